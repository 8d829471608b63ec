import Foundation
import Reconciliation

extension EnquiryText {
    /// The verdict in one plain line.
    func sentence(_ verdict: DeskVerdict) -> String {
        switch verdict {
        case .delivered(let user, let date, let refundedAt):
            let delivered =
                if let user {
                    say(.verdict(.isDeliveredTo), ["user": Printable.text(user), "time": moment(date)])
                } else {
                    say(.verdict(.isDelivered), ["time": moment(date)])
                }
            return delivered + (refundedAt.map { say(.verdict(.andRefunded), ["time": moment($0)]) } ?? "")
        case .owed(let assessment):
            return say(.verdict(.isOwed), ["advice": advice(assessment)])
        case .redelivering(let redelivery): return sentence(redelivery)
        case .contested(let users):
            return say(
                .verdict(.isContested),
                ["users": users.map { Printable.text($0) }.joined(separator: say(.label(.comma)))])
        case .pending(let end): return say(.verdict(.isPending), ["time": moment(end)])
        case .refunded(let date):
            return date.map { say(.verdict(.isRefundedSince), ["time": moment($0)]) } ?? say(.verdict(.isRefunded))
        case .notOwed(let cause): return say(.verdict(.notOwed), ["cause": words.sentence(cause)])
        case .unseen(let transaction):
            let command = "iap-reconcile adopt \(transaction.id.shellWord) --user … --by … --note …"
            return say(.verdict(.isUnseen), ["time": moment(transaction.purchasedAt), "command": command])
        case .waiting: return say(.verdict(.isWaiting))
        case .unusable(let problem):
            return say(.verdict(.isUnusable), ["problem": words.sentence(problem), "action": words.action(problem)])
        case .unpaidOrder: return say(.verdict(.isUnpaidOrder))
        case .nothingOpen(let deliveries, let waiting):
            return say(
                .verdict(.nothingOpen),
                [
                    "deliveries": words.counted(deliveries, .deliveries),
                    "receipts": words.counted(waiting, .waitingReceipts),
                ])
        case .notPaid: return say(.verdict(.notPaid))
        case .several(let owed, let delivered, let refunded, let others):
            return several([
                (owed, .verdict(.severalOwed)), (delivered, .verdict(.severalDelivered)),
                (refunded, .verdict(.severalRefunded)),
                (others, .verdict(.severalOthers)),
            ])
        case .unknown: return say(.verdict(.isUnknown))
        }
    }

    private func sentence(_ redelivery: OpenRedelivery) -> String {
        say(
            .verdict(.isRedelivered),
            [
                "user": Printable.text(redelivery.userID), "time": moment(redelivery.orderedAt),
                "who": Printable.text(redelivery.orderedBy),
                "taken": redelivery.takenAt.map { say(.verdict(.takenByServer), ["time": moment($0)]) }
                    ?? say(.verdict(.notTaken)),
            ])
    }

    private func advice(_ assessment: Assessment?) -> String {
        guard let assessment else { return say(.verdict(.notJudged)) }
        let advice = Printable.text(words.action(assessment, redelivery: nil), longest: 500)
        return advice.prefix(1).lowercased() + advice.dropFirst()
    }

    private func several(_ counts: [(number: Int, phrase: EnquiryPhrase)]) -> String {
        let named = counts.filter { $0.number > 0 }.map { say($0.phrase, ["n": String($0.number)]) }
        return say(
            .verdict(.several),
            [
                "total": String(counts.map(\.number).reduce(0, +)),
                "counts": named.joined(separator: say(.label(.comma))),
            ])
    }

    func cause(_ exclusion: NotOwed) -> String {
        let found = exclusion.foundBundleID.map { " (\(Printable.text($0)))" } ?? ""
        let refundedAt = exclusion.isRefund ? exclusion.refundedAt : nil
        let refund = refundedAt.map { say(.line(.excludedAndRefunded), ["time": moment($0)]) } ?? ""
        return words.sentence(exclusion.cause) + found + refund
    }
}
