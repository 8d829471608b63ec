public import Foundation
import PostgreSQL
public import Reconciliation

/// What Apple answered about customers and deliveries of one app, ready to be taken in one database transaction.
public struct AnswerBatch: Sendable {
    /// What Apple told of a customer.
    public struct Customer: Sendable {
        public let customerID: String
        /// The `appTransactionId`, if Apple named one.
        public let account: String?
        /// Up to where the history is known now; `nil` if that is no further than before.
        public let revision: String?
        /// When the last of the subscriptions that Apple told of expires.
        public let expiresAt: Date?
        /// The purchases that Apple told of.
        public let transactionIDs: Set<TransactionID>

        public init(
            customerID: String, account: String?, revision: String?, expiresAt: Date?,
            transactionIDs: Set<TransactionID>
        ) {
            self.customerID = customerID
            self.account = account
            self.revision = revision
            self.expiresAt = expiresAt
            self.transactionIDs = transactionIDs
        }
    }

    /// What Apple told of a delivery for which only the app's server vouched.
    public struct Delivery: Sendable {
        /// Why Apple does not bear the delivery out; or why it says nothing of it, which speaks against nobody.
        public enum Finding: Sendable {
            case unproved(UnprovedFinding)
            case accountGone

            fileprivate var word: String {
                switch self {
                case .unproved(let finding): finding.rawValue
                case .accountGone: "account_gone"
                }
            }
        }

        public let transactionID: TransactionID
        /// `nil` if Apple knows the purchase.
        public let finding: Finding?
        /// The `appAccountToken` that it bears.
        public let appAccountToken: String?

        public init(transactionID: TransactionID, finding: Finding?, appAccountToken: String?) {
            self.transactionID = transactionID
            self.finding = finding
            self.appAccountToken = appAccountToken
        }
    }

    public let runID: Int64
    /// The moment that the run takes for the present.
    public let now: Date
    /// Seconds until the same customers are asked about again.
    public let interval: TimeInterval
    /// Purchases, each as Apple sees it.
    public var purchases: [HeardNotice] = []
    public var customers: [Customer] = []
    public var deliveries: [Delivery] = []
    /// The customers of whom nothing was learnt: they are asked about another night, after those that have waited
    /// longer.
    public var unansweredCustomers: [String] = []
    public var unansweredDeliveries: [TransactionID] = []

    public init(runID: Int64, now: Date, interval: TimeInterval) {
        self.runID = runID
        self.now = now
        self.interval = interval
    }

    /// How many questions it answers.
    public var answered: Int { customers.count + deliveries.count }

    /// How many questions it tells of.
    public var count: Int { answered + unansweredCustomers.count + unansweredDeliveries.count }

    /// What the batch tells of these transactions, with the customers who bought them.
    public func holding(_ ids: [TransactionID]) -> AnswerBatch {
        let ids = Set(ids)
        var batch = AnswerBatch(runID: runID, now: now, interval: interval)
        batch.customers = customers.filter { !$0.transactionIDs.isDisjoint(with: ids) }
        batch.deliveries = deliveries.filter { ids.contains($0.transactionID) }
        let held = batch.customers.reduce(into: ids) { $0.formUnion($1.transactionIDs) }
        batch.purchases = purchases.filter { held.contains($0.transaction.key.id) }
        return batch
    }

    /// Each question as a batch of its own.
    public var oneByOne: [AnswerBatch] {
        func one(_ ids: Set<TransactionID>, _ answer: (inout AnswerBatch) -> Void) -> AnswerBatch {
            var batch = AnswerBatch(runID: runID, now: now, interval: interval)
            batch.purchases = purchases.filter { ids.contains($0.transaction.key.id) }
            answer(&batch)
            return batch
        }
        return customers.map { customer in one(customer.transactionIDs) { $0.customers = [customer] } }
            + deliveries.map { delivery in one([delivery.transactionID]) { $0.deliveries = [delivery] } }
            + unansweredCustomers.map { id in one([]) { $0.unansweredCustomers = [id] } }
            + unansweredDeliveries.map { id in one([]) { $0.unansweredDeliveries = [id] } }
    }
}

extension LedgerSession {
    /// Takes answers: changes the known transactions as Apple tells, puts the unknown ones into the inbox, and notes
    /// what was asked, all in one database transaction. What another session has locked is asked about again.
    ///
    /// - Throws: `LedgerError.conflict` when another session's lock was in the way of all of it.
    public func take(
        _ batch: AnswerBatch, of bundleID: BundleID, in environment: Environment
    ) async throws(LedgerError) -> AskingTotals {
        try await translating {
            try await prepare(.notices)
            return try await connection.transaction {
                var totals = AskingTotals(asked: batch.answered)
                var undecided: Set<TransactionID> = []
                if !batch.purchases.isEmpty {
                    let taken = try await take(batch)
                    totals += taken.totals
                    undecided = taken.undecided
                }
                checkpoint(.answersTaken)
                if !isShadowed {
                    try await note(batch, but: Set(totals.locked), undecided, bundleID, environment)
                }
                checkpoint(.answersCommitting)
                return totals
            }
        }
    }

    /// - Returns: with the totals the purchases that stay refunded though Apple told of no refund.
    private func take(
        _ batch: AnswerBatch
    ) async throws -> (totals: AskingTotals, undecided: Set<TransactionID>) {
        let heard = batch.purchases.map(\.transaction).latest()
        try await stage(heard, told: batch.purchases)
        try await pullHeardShadows()
        let taken = try await connection.only(
            "SELECT unknown, locked, undecided FROM iap.take_answers(\(batch.runID), \(batch.now))")
        var totals = AskingTotals()
        totals.locked = try taken.ids("locked")
        totals.unknown = try await handIn(try taken.decode("unknown", as: [Int32].self), at: batch.now)
        let undecided: [TransactionID] = try taken.ids("undecided")
        return (totals, Set(undecided))
    }

    private func note(
        _ batch: AnswerBatch, but locked: Set<TransactionID>, _ undecided: Set<TransactionID>, _ bundleID: BundleID,
        _ environment: Environment
    ) async throws {
        let customers = batch.customers.filter { $0.transactionIDs.isDisjoint(with: locked) }
        if !customers.isEmpty {
            // What changed behind a revision Apple tells no more: the next time it tells this again.
            let revisions = customers.map { $0.transactionIDs.isDisjoint(with: undecided) ? $0.revision : nil }
            _ = try await connection.query(
                """
                SELECT iap.note_answers(
                    \(bundleID.text), \(environment.rawValue), \(customers.map(\.customerID)),
                    \(customers.map(\.account)), \(revisions), \(customers.map(\.expiresAt)),
                    make_interval(secs => \(batch.interval)), \(batch.now))
                """)
        }
        if !(batch.unansweredCustomers.isEmpty && batch.unansweredDeliveries.isEmpty) {
            _ = try await connection.query(
                """
                SELECT iap.postpone_questions(
                    \(bundleID.text), \(environment.rawValue), \(batch.unansweredCustomers),
                    \(batch.unansweredDeliveries.map(\.text)), \(batch.now))
                """)
        }
        let deliveries = batch.deliveries.filter { !locked.contains($0.transactionID) }
        if !deliveries.isEmpty {
            _ = try await connection.query(
                """
                SELECT iap.note_checks(
                    \(bundleID.text), \(environment.rawValue), \(deliveries.map(\.transactionID.text)),
                    \(deliveries.map { $0.finding?.word }), \(deliveries.map(\.appAccountToken)), \(batch.now))
                """)
        }
    }
}
