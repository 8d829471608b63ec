import Foundation
import Reconciliation

extension EnquiryText {
    /// The verdict in one plain line.
    func sentence(_ verdict: DeskVerdict) -> String {
        switch verdict {
        case .delivered(let user, let date, let refundedAt):
            let delivered =
                if let user {
                    say(.isDeliveredTo, ["user": Printable.text(user), "time": moment(date)])
                } else {
                    say(.isDelivered, ["time": moment(date)])
                }
            return delivered + (refundedAt.map { say(.andRefunded, ["time": moment($0)]) } ?? "")
        case .owed(let assessment, let orderIDs): return say(.isOwed, ["advice": advice(assessment, orderIDs)])
        case .redelivering(let redelivery): return sentence(redelivery)
        case .contested(let users):
            return say(.isContested, ["users": users.map { Printable.text($0) }.joined(separator: say(.comma))])
        case .pending(let end): return say(.isPending, ["time": moment(end)])
        case .refunded(let date): return date.map { say(.isRefundedSince, ["time": moment($0)]) } ?? say(.isRefunded)
        case .notOwed(let cause): return say(.notOwed, ["cause": words.sentence(cause)])
        case .unseen(let transaction):
            let command = "iap-reconcile adopt \(transaction.id.shellWord) --user … --by … --note …"
            return say(.isUnseen, ["time": moment(transaction.purchasedAt), "command": command])
        case .waiting: return say(.isWaiting)
        case .unusable(let problem):
            return say(.isUnusable, ["problem": words.sentence(problem), "action": words.action(problem)])
        case .unpaidOrder: return say(.isUnpaidOrder)
        case .nothingOpen(let deliveries, let waiting):
            return say(
                .nothingOpen,
                [
                    "deliveries": words.counted(deliveries, .deliveries),
                    "receipts": words.counted(waiting, .waitingReceipts),
                ])
        case .notPaid: return say(.notPaid)
        case .several(let owed, let delivered, let refunded, let others):
            return several([
                (owed, .severalOwed), (delivered, .severalDelivered), (refunded, .severalRefunded),
                (others, .severalOthers),
            ])
        case .unknown: return say(.isUnknown)
        }
    }

    private func sentence(_ redelivery: OpenRedelivery) -> String {
        say(
            .isRedelivered,
            [
                "user": Printable.text(redelivery.userID), "time": moment(redelivery.orderedAt),
                "who": Printable.text(redelivery.orderedBy),
                "taken": redelivery.takenAt.map { say(.takenByServer, ["time": moment($0)]) } ?? say(.notTaken),
            ])
    }

    private func advice(_ assessment: Assessment?, _ orderIDs: [String]) -> String {
        guard let assessment else { return say(.notJudged) }
        let known = assessment.orderIDs.isEmpty ? orderIDs : assessment.orderIDs
        let advice = Printable.text(words.action(assessment, orderIDs: known, redelivery: nil), longest: 500)
        return advice.prefix(1).lowercased() + advice.dropFirst()
    }

    private func several(_ counts: [(number: Int, phrase: EnquiryPhrase)]) -> String {
        let named = counts.filter { $0.number > 0 }.map { say($0.phrase, ["n": String($0.number)]) }
        return say(
            .several,
            ["total": String(counts.map(\.number).reduce(0, +)), "counts": named.joined(separator: say(.comma))])
    }

    func cause(_ exclusion: NotOwed) -> String {
        let found = exclusion.foundBundleID.map { " (\(Printable.text($0)))" } ?? ""
        let refundedAt = exclusion.isRefund ? exclusion.refundedAt : nil
        let refund = refundedAt.map { say(.excludedAndRefunded, ["time": moment($0)]) } ?? ""
        return words.sentence(exclusion.cause) + found + refund
    }
}
