import Foundation
import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// Where the transactions are, the latest purchase first.
    func knownTransactions(_ lookup: Lookup) async throws -> [KnownTransaction] {
        try await connection.query(
            """
            SELECT
                known.*, known.source::text AS source_name,
                iap.type_by(known.product_type, known.source, products.type) AS type,
                products.name AS product_name,
                \(BookedPrice.milliunits(of: "known")) AS cost_milliunits,
                \(BookedPrice.currency(of: "known")) AS cost_currency,
                \(BookedPrice.isListed("known")) AS is_list_price
            FROM transactions AS known
            LEFT JOIN products USING (bundle_id, product_id)
            WHERE known.transaction_id = ANY (\(lookup.ids))
            ORDER BY purchased_at DESC, transaction_id, bundle_id, environment
            """
        ).map(KnownTransaction.init).filter { lookup.names($0.key.id.text, of: $0.key.bundleID.text) }
    }

    func addCases(_ lookup: Lookup, to transactions: inout [KnownTransaction]) async throws {
        let rows = try await connection.query(
            """
            SELECT
                told.transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids,
                candidates::text AS candidates, order_ids AS matched_order_ids, opened_at, closed_at, closed_as,
                closed_by, note
            FROM cases
            CROSS JOIN LATERAL (
                SELECT cases.transaction_id
                UNION
                -- The case of a subscription tells of all its periods without access.
                SELECT unnest(cases.periods) WHERE cases.state = 'open'
            ) AS told
            WHERE told.transaction_id = ANY (\(lookup.ids))
                AND (
                    cases.transaction_id = ANY (\(lookup.ids))
                    OR (cases.state = 'open' AND cases.periods <> '{}' AND cases.periods && \(lookup.ids)::text[]))
            -- A case of its own tells more than another's.
            ORDER BY told.transaction_id = cases.transaction_id
            """)
        for row in rows { try transactions.change(TransactionKey(row)) { $0.lostOrder = try KnownCase(row) } }
    }

    /// Adds whose the owed transactions are by what is known now, and which of them the apps' servers are to deliver.
    func addOwners(_ lookup: Lookup, to transactions: inout [KnownTransaction]) async throws {
        let rows = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, owners_told(transaction_id, bundle_id, environment) AS owners
            FROM white
            WHERE transaction_id = ANY (\(lookup.ids))
            """)
        for row in rows { try transactions.change(TransactionKey(row)) { $0.owners = try row.decode("owners") } }
        for (key, redelivery) in try await openRedeliveries(of: lookup.ids) {
            transactions.change(key) { $0.redelivery = redelivery }
        }
    }

    func addEvents(_ lookup: Lookup, to transactions: inout [KnownTransaction]) async throws {
        let rows = try await connection.query(
            """
            SELECT
                transaction_id, bundle_id, environment, happened_at, kind, actor, run_id,
                (
                    SELECT jsonb_object_agg(key, value) FROM jsonb_each_text(details) WHERE value IS NOT NULL
                )::text AS details
            FROM (
                SELECT
                    event_id AS number, transaction_id, bundle_id, environment, happened_at, kind, actor, run_id,
                    details
                FROM events
                WHERE transaction_id = ANY (\(lookup.ids)) AND bundle_id IS NOT NULL AND environment IS NOT NULL
                UNION ALL
                SELECT
                    move_id, transaction_id, bundle_id, environment, moved_at, kind, actor, run_id, details
                FROM moves
                WHERE transaction_id = ANY (\(lookup.ids))
            ) AS told
            ORDER BY number
            """)
        for row in rows { try transactions.change(TransactionKey(row)) { $0.events.append(try KnownEvent(row)) } }
    }
}

extension [KnownTransaction] {
    /// Changes the transaction of that key, if it is among them.
    mutating func change(_ key: TransactionKey, _ body: (inout KnownTransaction) throws -> Void) rethrows {
        if let index = firstIndex(where: { $0.key == key }) { try body(&self[index]) }
    }
}

extension KnownTransaction {
    fileprivate init(_ row: Row) throws {
        let price = try row.money("cost_milliunits", "cost_currency")
        self.init(
            key: try TransactionKey(row),
            originalID: try row.id("original_transaction_id"),
            productID: try row.id("product_id"),
            productName: try row.decode("product_name", as: String?.self),
            productType: try row.wordIfAny("type"),
            quantity: Int(try row.decode("quantity", as: Int32.self)),
            purchasedAt: try row.decode("purchased_at"),
            price: price,
            isListPrice: try price != nil && row.decode("is_list_price"),
            source: try row.word("source_name"),
            place: try Place(row))
    }
}

extension KnownTransaction.Place {
    fileprivate init(_ row: Row) throws {
        let place = try row.decode("place", as: String.self)
        switch place {
        case "black": self = .black(try Delivery(row))
        case "excluded": self = .excluded(try NotOwed(row))
        case "white":
            self = .white(
                Owed(
                    firstSeenAt: try row.decode("first_seen_at"),
                    verifiedAt: try row.decode("last_confirmed_at", as: Date?.self) ?? row.decode("verified_at"),
                    nightsConfirmed: Int(try row.decode("nights_confirmed", as: Int32.self)),
                    admittedFor: try row.decode("admitted_user_id", as: String?.self)))
        default: throw row.unknown("“\(place)”", in: "place")
        }
    }
}

extension Delivery {
    init(_ row: Row) throws {
        self.init(
            userID: try row.decode("user_id", as: String?.self), orderID: try row.decode("order_id", as: String?.self),
            deliveredBy: try row.word("delivered_by"), deliveredAt: try row.decode("delivered_at"),
            refundedAt: try row.decode("refunded_at", as: Date?.self))
    }
}

extension NotOwed {
    fileprivate init(_ row: Row) throws {
        let reason = try row.decode("reason", as: String.self)
        let cause: Cause = reason == "dismissed" ? .dismissed : .rule(try row.word("reason"))
        self.init(
            cause: cause, excludedAt: try row.decode("excluded_at"),
            refundedAt: try row.decode("refunded_at", as: Date?.self),
            foundBundleID: reason == Exclusion.foreignBundle.rawValue
                ? try row.decode("found_bundle_id", as: String?.self) : nil)
    }
}

extension KnownCase {
    fileprivate init(_ row: Row) throws {
        var closing: Closing?
        if let at = try row.decode("closed_at", as: Date?.self) {
            closing = Closing(
                how: try row.word("closed_as"), who: try row.decode("closed_by"), at: at,
                note: try row.decode("note", as: String?.self))
        }
        self.init(assessment: try Assessment(row), openedAt: try row.decode("opened_at"), closing: closing)
    }
}

extension KnownEvent {
    fileprivate init(_ row: Row) throws {
        let details = try row.decode("details", as: String?.self) ?? "{}"
        self.init(
            happenedAt: try row.decode("happened_at"), kind: try row.decode("kind"), actor: try row.decode("actor"),
            runID: try row.decode("run_id", as: Int64?.self),
            details: try JSONDecoder().decode([String: String].self, from: Data(details.utf8)))
    }
}
