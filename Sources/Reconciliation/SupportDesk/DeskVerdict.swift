public import Foundation

/// The one thing that the support desk wants to know of an id.
public enum DeskVerdict: Hashable, Sendable {
    /// The goods were delivered; the user is `nil` if the support desk did not say to whom.
    case delivered(to: String?, at: Date, refundedAt: Date?)
    /// Paid, and past its grace: a likely lost order, with what the last run made of it, if one has judged it.
    case owed(Assessment?)
    /// Paid, and the app's server is to deliver it by itself.
    case redelivering(OpenRedelivery)
    /// Paid, but evidence for another user came since the last run judged whose it is; everyone for whom there is
    /// evidence.
    case contested([String])
    /// Paid, and the client may still come for it.
    case pending(until: Date)
    case refunded(at: Date?)
    /// Verified, and not owed for another reason than a refund.
    case notOwed(NotOwed.Cause)
    /// Apple says it is paid, and no receipt with it ever reached the job.
    case unseen(Transaction)
    /// A receipt for it waits to be verified.
    case waiting
    /// A receipt came for it and can't be used.
    case unusable(ReceiptProblem)
    /// An order for which no purchase is known.
    case unpaidOrder
    /// A user without a known open purchase; a waiting receipt may yet hold one.
    case nothingOpen(deliveries: Int, waitingReceipts: Int)
    /// Apple knows no such id.
    case notPaid
    /// Several transactions: how many are owed, delivered, refunded, or something else.
    case several(owed: Int, delivered: Int, refunded: Int, others: Int)
    case unknown

    /// Whether nobody knows anything of the id, not even Apple.
    public var isOfNothing: Bool { self == .unknown || self == .notPaid }
}

extension DeskVerdict {
    public init(of known: KnownTransaction) {
        self =
            switch known.place {
            case .black(let delivery):
                .delivered(to: delivery.userID, at: delivery.deliveredAt, refundedAt: delivery.refundedAt)
            case .excluded(let exclusion):
                exclusion.isRefund ? .refunded(at: exclusion.refundedAt) : .notOwed(exclusion.cause)
            case .white(let owed):
                Self.standing(of: known, owed)
            }
    }

    private static func standing(of known: KnownTransaction, _ owed: Owed) -> DeskVerdict {
        if let redelivery = known.redelivery { return .redelivering(redelivery) }
        if let open = known.lostOrder, open.closing == nil {
            return known.isContested ? .contested(known.owners) : .owed(open.assessment)
        }
        return owed.graceEndsAt.map { .pending(until: $0) } ?? .owed(nil)
    }

    /// The verdict on everything that is known about an id: what is known of purchases comes first, then what Apple
    /// says, then what is on its way.
    public init(of enquiry: Enquiry) {
        let unseen = enquiry.unseenTransactions
        let verdicts = enquiry.transactions.map { DeskVerdict(of: $0) } + unseen.map { DeskVerdict(unseen: $0) }
        if verdicts.count == 1 {
            self = verdicts[0]
        } else if !verdicts.isEmpty {
            self = Self.sum(verdicts)
        } else {
            self = Self.withoutPurchase(enquiry)
        }
    }

    /// A purchase that the night would not owe for any app is not to be adopted.
    private init(unseen purchase: ApplesTransaction) {
        let transaction = purchase.transaction
        let app = App(
            bundleID: purchase.key.bundleID, environment: purchase.key.environment, grace: Grace(0), since: nil)
        let subject = ScreeningSubject(
            transaction: transaction, environment: purchase.key.environment, foundBundleID: nil, app: app,
            productType: transaction.productType, isOriginalKnown: false)
        self =
            switch Screening.exclusion(of: subject) {
            case nil: .unseen(transaction)
            case .refunded: .refunded(at: transaction.refundedAt)
            case .some(let exclusion): .notOwed(.rule(exclusion))
            }
    }

    private static func sum(_ verdicts: [DeskVerdict]) -> DeskVerdict {
        var (owed, delivered, refunded, others) = (0, 0, 0, 0)
        for verdict in verdicts {
            switch verdict {
            case .owed, .redelivering, .contested, .unseen: owed += 1
            case .delivered: delivered += 1
            case .refunded: refunded += 1
            default: others += 1
            }
        }
        return .several(owed: owed, delivered: delivered, refunded: refunded, others: others)
    }

    private static func withoutPurchase(_ enquiry: Enquiry) -> DeskVerdict {
        if let user = enquiry.user, enquiry.orders.isEmpty {
            return .nothingOpen(deliveries: user.deliveries.count, waitingReceipts: user.waitingReceipts)
        }
        if enquiry.troubledReceipts.contains(where: { $0.state == .waiting }) { return .waiting }
        if let problem = enquiry.troubledReceipts.lazy.compactMap(\.problem).first { return .unusable(problem) }
        if !enquiry.orders.isEmpty { return .unpaidOrder }
        return enquiry.apple.isNo ? .notPaid : .unknown
    }
}

extension Enquiry {
    /// The transactions that Apple told of and that the ledger does not know.
    public var unseenTransactions: [ApplesTransaction] {
        let known = Set(transactions.map(\.key))
        return apple.transactions.filter { !known.contains($0.key) }
    }
}
