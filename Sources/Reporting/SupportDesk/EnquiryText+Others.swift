import Foundation
import Reconciliation

extension EnquiryText {
    func block(of order: KnownOrder) -> TextBlock {
        var block = TextBlock("Order \(Printable.text(order.orderID)) of \(Printable.text(order.bundleID))")
        block.add("user", Printable.text(order.userID))
        block.add(
            "product",
            Printable.text(order.productID) + (order.quantity == 1 ? "" : ", quantity \(order.quantity)"))
        block.add("created", moment(order.createdAt))
        return block
    }

    func block(of user: KnownUser, id: String) -> TextBlock {
        var block = TextBlock("User \(Printable.text(id))")
        block.add(
            "receipts",
            "\(user.receipts): \(user.waitingReceipts) waiting to be verified, \(user.watchedReceipts) with a purchase "
                + "that nobody has claimed")
        block.add(
            "deliveries",
            user.deliveries.isEmpty
                ? ["none"]
                : user.deliveries.map { "\($0.key.id)  \($0.productID)  \(delivery($0.delivery))" })
        return block
    }

    func claims(_ claims: [StrayClaim]) -> TextBlock {
        var block = TextBlock("Claims of what nobody has verified")
        block.add(
            "",
            claims.map { "\(Printable.text($0.transactionID)) of \(Printable.text($0.bundleID))  \(line($0.attempt))" })
        return block
    }

    func receipts(_ receipts: [KnownReceipt]) -> TextBlock {
        var block = TextBlock("Receipts that are not verified")
        for receipt in receipts {
            block.add("receipt \(receipt.receiptID)", "uploaded \(moment(receipt.submittedAt)), \(by(receipt.userID))")
            block.add("", trouble(receipt))
            block.add("", Device.text(receipt.device).isEmpty ? nil : Printable.text(Device.text(receipt.device)))
        }
        return block
    }

    private func trouble(_ receipt: KnownReceipt) -> [String] {
        guard let problem = receipt.problem else { return ["It waits for its first night."] }
        let detail = receipt.detail.map { " (\(Printable.text($0, longest: 300)))" } ?? ""
        let nights = counted(receipt.attempts, "night", "nights")
        return ["\(words.sentence(problem))\(detail) Tried on \(nights).", "→ \(words.action(problem))"]
    }

    /// What Apple told of what the ledger does not know, and what it said otherwise.
    func appleBlocks(_ enquiry: Enquiry) -> [TextBlock] {
        switch enquiry.apple {
        case .notNeeded: return []
        case .notAsked(let why):
            var block = TextBlock("Apple was not asked")
            block.add("", Printable.text(why, longest: 500))
            return [block]
        case .asked(let answers):
            return enquiry.unseenTransactions.map(block) + answers.compactMap(refusal)
        }
    }

    private func block(of told: ApplesTransaction) -> TextBlock {
        let transaction = told.transaction
        var block = TextBlock(
            "Transaction \(told.key.id) of \(told.key.bundleID), \(told.key.environment.rawValue), as Apple tells it now"
        )
        block.add(
            "product",
            "\(transaction.productID)" + (transaction.quantity == 1 ? "" : ", quantity \(transaction.quantity)"))
        block.add("price", transaction.price.map(Formats.text) ?? words(.priceUnknown))
        block.add("purchased", moment(transaction.purchasedAt))
        block.add("refunded", transaction.refundedAt.map(moment))
        block.add("token", transaction.appAccountToken.map { Printable.text($0) })
        block.add("seen", "in no receipt")
        return block
    }

    private func refusal(_ answer: AppleAnswer.Answer) -> TextBlock? {
        let text: String
        switch answer.finding {
        case .found: return nil
        case .notFound(let sentence), .failed(let sentence): text = sentence
        }
        var block = TextBlock("Apple, asked for \(answer.bundleID)")
        block.add("", Printable.text(text, longest: 500))
        return block
    }
}
