import Foundation
import Reconciliation

extension EnquiryText {
    func block(of order: KnownOrder) -> TextBlock {
        var block = TextBlock(
            say(.label(.order), ["id": Printable.text(order.orderID), "app": Printable.text(order.bundleID)]))
        block.add(say(.label(.userLine)), Printable.text(order.userID))
        block.add(say(.label(.product)), Printable.text(order.productID) + quantity(order.quantity))
        block.add(say(.label(.created)), moment(order.createdAt))
        return block
    }

    func block(of user: KnownUser, id: String) -> TextBlock {
        var block = TextBlock(say(.label(.user), ["id": Printable.text(id)]))
        block.add(
            say(.label(.receiptsLine)),
            say(
                .line(.receiptsOfUser),
                [
                    "receipts": String(user.receipts), "waiting": String(user.waitingReceipts),
                    "watched": String(user.watchedReceipts),
                ]))
        block.add(
            say(.label(.deliveries)),
            user.deliveries.isEmpty
                ? [say(.line(.none))]
                : user.deliveries.map { "\($0.key.id)  \($0.productID)  \(delivery($0.delivery))" })
        return block
    }

    func claims(_ claims: [StrayClaim]) -> TextBlock {
        var block = TextBlock(say(.label(.claims)))
        block.add(
            "",
            claims.map { claim in
                let what = say(
                    .line(.claimOf),
                    ["id": Printable.text(claim.transactionID), "app": Printable.text(claim.bundleID)])
                return "\(what)  \(line(claim.attempt))"
            })
        return block
    }

    func receipts(_ receipts: [KnownReceipt]) -> TextBlock {
        var block = TextBlock(say(.label(.receipts)))
        for receipt in receipts {
            block.add(
                say(.label(.receiptLine), ["id": String(receipt.receiptID)]),
                say(.line(.uploaded), ["time": moment(receipt.submittedAt), "who": by(receipt.userID)]))
            block.add("", trouble(receipt))
            block.add("", Device.text(receipt.device).isEmpty ? nil : Printable.text(Device.text(receipt.device)))
        }
        return block
    }

    private func trouble(_ receipt: KnownReceipt) -> [String] {
        guard let problem = receipt.problem else { return [say(.line(.waitsForNight))] }
        let tried = say(
            .line(.triedOn),
            [
                "problem": words.sentence(problem),
                "detail": receipt.detail.map { " (\(Printable.text($0, longest: 300)))" } ?? "",
                "nights": words.counted(receipt.attempts, .nights),
            ])
        return [tried, "→ \(words.action(problem))"]
    }

    /// What Apple told beyond the ledger, and what it told differently.
    func appleBlocks(_ enquiry: Enquiry) -> [TextBlock] {
        switch enquiry.apple {
        case .notNeeded: return []
        case .notAsked(let why):
            var block = TextBlock(say(.label(.appleNotAsked)))
            block.add("", Printable.text(why, longest: 500))
            return [block]
        case .asked(let answers):
            return enquiry.unseenTransactions.map(block) + answers.compactMap(refusal) + unasked(answers)
        }
    }

    private func block(of told: ApplesTransaction) -> TextBlock {
        let transaction = told.transaction
        var block = TextBlock(say(.label(.transactionOfApple), name(of: told.key)))
        block.add(say(.label(.product)), "\(transaction.productID)" + quantity(transaction.quantity))
        block.add(say(.label(.price)), transaction.price.map(Formats.text) ?? words(.priceUnknown))
        block.add(say(.label(.purchased)), moment(transaction.purchasedAt))
        block.add(say(.label(.refunded)), transaction.refundedAt.map(moment))
        block.add(say(.label(.token)), transaction.appAccountToken.map { Printable.text($0) })
        block.add(say(.label(.seen)), say(.line(.inNoReceipt)))
        return block
    }

    private func refusal(_ answer: AppleAnswer.Answer) -> TextBlock? {
        let text: String
        switch answer.finding {
        case .found, .notAsked: return nil
        case .notFound(let sentence), .failed(let sentence): text = sentence
        }
        var block = TextBlock(say(.label(.appleAsked), ["app": answer.bundleID.text]))
        block.add("", Printable.text(text, longest: 500))
        return block
    }

    /// The apps for which Apple can't be asked, in one block; none if it was asked for all.
    private func unasked(_ answers: [AppleAnswer.Answer]) -> [TextBlock] {
        let lines = answers.compactMap { answer -> String? in
            guard case .notAsked(let why) = answer.finding else { return nil }
            return Printable.text("\(answer.bundleID): \(why)", longest: 500)
        }
        guard !lines.isEmpty else { return [] }
        var block = TextBlock(say(.label(.appleNotAsked)))
        block.add("", lines)
        return [block]
    }
}
