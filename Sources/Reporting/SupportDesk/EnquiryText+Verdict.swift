import Foundation
import Reconciliation

extension EnquiryText {
    /// The verdict in one plain line.
    func sentence(_ verdict: DeskVerdict) -> String {
        switch verdict {
        case .delivered(let user, let date, let refundedAt):
            let to = user.map { "to \(Printable.text($0)) " } ?? ""
            return "delivered \(to)at \(moment(date))" + (refundedAt.map { ", and refunded at \(moment($0))" } ?? "")
        case .owed(let assessment, let orderIDs):
            return "paid, not delivered: " + advice(assessment, orderIDs)
        case .pending(let end):
            return "paid, not delivered: the client may still claim it; from \(moment(end)) on it counts as lost"
        case .refunded(let date):
            return "refunded" + (date.map { " at \(moment($0))" } ?? "")
        case .notOwed(let cause):
            return "not owed: " + sentence(cause)
        case .unseen(let transaction):
            return
                "paid at \(moment(transaction.purchasedAt)), as Apple says, and not delivered: no receipt with it came; "
                + "take it into the ledger with iap-reconcile adopt \(transaction.id) --user … --by … --note …"
        case .waiting: return "not verified yet: a receipt for it waits for the night"
        case .unusable(let problem): return "not verified: \(words.sentence(problem)) \(words.action(problem))"
        case .unpaidOrder: return "not paid as far as is known: no purchase came for this order"
        case .nothingOpen(let deliveries, let waiting):
            let receipts = counted(waiting, "receipt waits", "receipts wait")
            return "no purchase of this user's is known to be open; "
                + "\(counted(deliveries, "delivery", "deliveries")) listed, \(receipts) to be verified"
        case .notPaid: return "not paid as far as Apple knows"
        case .several(let owed, let delivered, let refunded, let others):
            return several([
                (owed, "not delivered"), (delivered, "delivered"), (refunded, "refunded"), (others, "other"),
            ])
        case .unknown: return "unknown"
        }
    }

    private func advice(_ assessment: Assessment?, _ orderIDs: [String]) -> String {
        guard let assessment else { return "no run has judged it yet, or nothing of its type is looked at" }
        let known = assessment.orderIDs.isEmpty ? orderIDs : assessment.orderIDs
        let advice = Printable.text(words.action(assessment, orderIDs: known), longest: 500)
        return advice.prefix(1).lowercased() + advice.dropFirst()
    }

    func counted(_ number: Int, _ one: String, _ many: String) -> String {
        switch number {
        case 0: "no \(one)"
        case 1: "1 \(one)"
        default: "\(number) \(many)"
        }
    }

    private func several(_ counts: [(number: Int, name: String)]) -> String {
        let named = counts.filter { $0.number > 0 }.map { "\($0.number) \($0.name)" }
        return "\(counts.map(\.number).reduce(0, +)) transactions: \(named.joined(separator: ", "))"
    }

    func cause(_ exclusion: NotOwed) -> String {
        let found = exclusion.foundBundleID.map { " (\(Printable.text($0)))" } ?? ""
        let refund = exclusion.refundedAt.map { "; refunded \(moment($0))" } ?? ""
        return sentence(exclusion.cause) + found + refund
    }

    private func sentence(_ cause: NotOwed.Cause) -> String {
        switch cause {
        case .dismissed: "dismissed by the support desk"
        case .rule(.foreignBundle): "the receipt is another app's"
        case .rule(.sandbox): "made in the other environment than the app's, where nobody pays"
        case .rule(.refunded): "refunded"
        case .rule(.familyShared): "a family member paid for it"
        case .rule(.upgraded): "an upgrade took its place"
        case .rule(.invalidQuantity): "its quantity is no purchase"
        case .rule(.beforeStart): "bought before the app's records begin"
        case .rule(.restored): "restores a purchase that is known under another transaction id"
        }
    }
}
