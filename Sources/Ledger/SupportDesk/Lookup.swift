import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Everything that the ledger knows about an id, whatever sort of id it is: a transaction's, an order's, a user's.
    /// Each table is asked by an index; nothing is locked.
    ///
    /// - Parameter further: transactions that the id stands for, as Apple told.
    public func lookUp(_ id: String, and further: [TransactionID] = []) async throws(LedgerError) -> Enquiry {
        try await reading {
            let uploads = try await uploads(forOrder: id)
            var named = try await transactions(named: id, seenIn: uploads)
            if named.isEmpty { named = try await deliveries(matchedWith: id) }
            let names =
                try await named + openTransactions(of: id)
                + further.map { TransactionName(id: $0.text, bundleID: nil) }
            var enquiry = Enquiry(id: id)
            enquiry.isCut = names.count > Lookup.longest
            let lookup = Lookup(names: names.prefix(Lookup.longest) + [TransactionName(id: id, bundleID: nil)])
            enquiry.transactions = try await knownTransactions(lookup)
            enquiry.strayClaims = try await addClaims(lookup, to: &enquiry.transactions)
            try await addSightings(lookup, to: &enquiry.transactions)
            try await addCases(lookup, to: &enquiry.transactions)
            try await addOwners(lookup, to: &enquiry.transactions)
            try await addEvents(lookup, to: &enquiry.transactions)
            enquiry.troubledReceipts = try await troubledReceipts(
                of: id, among: uploads + enquiry.transactions.flatMap { $0.sightings.map(\.receiptID) }, lookup)
            try await leaveOutNotices(from: &enquiry.transactions)
            enquiry.orders = try await orders(named: id)
            enquiry.user = try await user(id, isOwed: enquiry.transactions.contains { $0.isOwed(to: id) })
            return enquiry
        }
    }

    /// The receipts that were uploaded for an order.
    private func uploads(forOrder id: String) async throws -> [Int64] {
        try await connection.query(
            "SELECT DISTINCT receipt_id FROM uploads WHERE order_id = \(id) LIMIT \(Lookup.rowLimit)"
        ).map { try $0.decode("receipt_id") }
    }

    /// The transactions in a user's receipts that nobody has claimed; the receipts that hold one are watched.
    private func openTransactions(of userID: String) async throws -> [TransactionName] {
        let watched = try await connection.query(
            """
            SELECT receipt_id
            FROM receipts
            WHERE user_id = \(userID) AND state = 'watched'
            ORDER BY submitted_at DESC
            LIMIT \(Lookup.rowLimit)
            """
        ).map { try $0.decode("receipt_id", as: Int64.self) }
        return try await connection.query(
            """
            SELECT DISTINCT transaction_id, bundle_id
            FROM sightings
            JOIN white USING (transaction_id, bundle_id, environment)
            WHERE receipt_id = ANY (\(watched))
            LIMIT \(Lookup.rowLimit)
            """
        ).map { TransactionName(id: try $0.decode("transaction_id"), bundleID: try $0.decode("bundle_id")) }
    }

    /// The transactions that an order, a user, or an original purchase stands for.
    private func transactions(named id: String, seenIn receipts: [Int64]) async throws -> [TransactionName] {
        try await connection.query(
            """
            \(Self.transactions(ofOrder: id, seenIn: receipts))
            UNION
            \(Self.transactions(owedTo: id))
            UNION
            (
                SELECT transaction_id, bundle_id FROM transactions
                WHERE iap.is_of_original(transaction_id, original_transaction_id, \(id))
                    AND place IN ('white', 'black')
                ORDER BY purchased_at DESC
                LIMIT \(Lookup.rowLimit)
            )
            """
        ).map { TransactionName(id: try $0.decode("transaction_id"), bundleID: try $0.decode("bundle_id")) }
    }

    /// What an order's user was delivered for no order, after the night matched it best with this one: a grant names no
    /// order, nor need a claim or the support desk. As `iap.status` tells the customer.
    private func deliveries(matchedWith orderID: String) async throws -> [TransactionName] {
        try await connection.query(
            """
            SELECT delivered.transaction_id, delivered.bundle_id
            FROM orders
            CROSS JOIN LATERAL (
                SELECT cases.transaction_id, cases.bundle_id, cases.environment
                FROM cases
                WHERE cases.order_ids[1] = \(orderID) AND cases.bundle_id = orders.bundle_id
                OFFSET 0
            ) AS matched
            CROSS JOIN LATERAL (
                SELECT had.transaction_id, had.bundle_id
                FROM transactions AS had
                WHERE had.transaction_id = matched.transaction_id AND had.bundle_id = matched.bundle_id
                    AND had.environment = matched.environment AND had.user_id = orders.user_id
                    AND had.place = 'black' AND had.order_id IS NULL
                OFFSET 0
            ) AS delivered
            WHERE orders.order_id = \(orderID)
            LIMIT \(Lookup.rowLimit)
            """
        ).map { TransactionName(id: try $0.decode("transaction_id"), bundleID: try $0.decode("bundle_id")) }
    }

    private static func transactions(ofOrder id: String, seenIn receipts: [Int64]) -> SQL {
        """
        (SELECT transaction_id, bundle_id FROM black WHERE order_id = \(id) LIMIT \(Lookup.rowLimit))
        UNION
        (
            SELECT transaction_id, bundle_id FROM sightings
            WHERE receipt_id = ANY (\(receipts)) AND order_id = \(id)
            LIMIT \(Lookup.rowLimit)
        )
        UNION
        (SELECT transaction_id, bundle_id FROM claims WHERE order_id = \(id) LIMIT \(Lookup.rowLimit))
        UNION
        (
            -- In an order, so that the planner doesn't hope to meet some early in a scan of all.
            SELECT transaction_id, bundle_id FROM cases
            WHERE order_ids @> ARRAY[\(id)] AND state = 'open'
            ORDER BY opened_at DESC
            LIMIT \(Lookup.rowLimit)
        )
        """
    }

    /// By an open case, which names them or says to ask them, an admission, or a token.
    private static func transactions(owedTo userID: String) -> SQL {
        """
        (
            SELECT transaction_id, bundle_id FROM cases
            WHERE owner_user_ids @> ARRAY[\(userID)] AND state = 'open'
            ORDER BY opened_at DESC
            LIMIT \(Lookup.rowLimit)
        )
        UNION
        (
            -- Where nobody is certain enough to be named, those whom the report says to ask.
            SELECT transaction_id, bundle_id FROM cases
            WHERE candidates @> jsonb_build_array(jsonb_build_object('user_id', \(userID)::text))
                AND owner_user_ids = '{}' AND candidates <> '[]' AND state = 'open'
            ORDER BY opened_at DESC
            LIMIT \(Lookup.rowLimit)
        )
        UNION
        (
            SELECT transaction_id, bundle_id FROM transactions
            WHERE admitted_user_id = \(userID) AND starts_with(place, 'white')
            LIMIT \(Lookup.rowLimit)
        )
        UNION
        (
            SELECT transaction_id, bundle_id
            FROM (
                SELECT app_account_token, bundle_id FROM account_tokens WHERE user_id = \(userID)
                UNION
                SELECT app_account_token, bundle_id FROM orders
                WHERE user_id = \(userID) AND app_account_token IS NOT NULL
            ) AS own
            JOIN transactions USING (app_account_token, bundle_id)
            WHERE starts_with(place, 'white')
            LIMIT \(Lookup.rowLimit)
        )
        """
    }
}

/// What a transaction is called in the ledger: by its id and, if that is known, its app.
struct TransactionName: Hashable {
    let id: String
    let bundleID: String?
}

/// The transactions of one lookup.
struct Lookup {
    /// The most transactions, receipts or deliveries that are listed: a person reads them.
    static let longest = 50
    /// The same, as the type that a LIMIT takes.
    static let rowLimit = Int64(longest)
    /// The most sightings or claims of one transaction: one receipt may be passed around among thousands.
    static let evidence: Int64 = 100

    let ids: [String]
    private let names: Set<TransactionName>

    init(names: some Sequence<TransactionName>) {
        self.names = Set(names)
        ids = Set(self.names.map(\.id)).sorted()
    }

    /// Whether it was meant: another app may know the same id.
    func names(_ id: String, of bundleID: String) -> Bool {
        names.contains(TransactionName(id: id, bundleID: bundleID))
            || names.contains(TransactionName(id: id, bundleID: nil))
    }
}

extension KnownTransaction {
    fileprivate func isOwed(to userID: String) -> Bool {
        if owners.containsExactly(userID) { return true }
        guard let lostOrder, lostOrder.closing == nil else { return false }
        return lostOrder.assessment.owner.candidates.containsExactly(userID)
    }
}
