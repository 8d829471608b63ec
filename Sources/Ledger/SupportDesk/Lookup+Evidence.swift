import Foundation
import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// Adds the receipts in which the transactions were seen, those uploaded for them first.
    func addSightings(_ lookup: Lookup, to transactions: inout [KnownTransaction]) async throws {
        let rows = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, receipt_id, user_id, order_id, is_named, in_receipt, uploaded_at
            FROM (
                SELECT
                    *,
                    row_number() OVER (
                        PARTITION BY transaction_id, bundle_id, environment
                        ORDER BY is_named DESC, uploaded_at, receipt_id) AS rank
                FROM sightings
                WHERE transaction_id = ANY (\(lookup.ids))
            ) AS ranked
            WHERE rank <= \(Lookup.evidence)
            ORDER BY rank
            """)
        for row in rows { try transactions.change(TransactionKey(row)) { $0.sightings.append(try Sighting(row)) } }
    }

    /// Adds every claim of the transactions, the earliest first. A claim does not say its environment, so it is added
    /// to the transaction in each.
    ///
    /// - Returns: the claims of what is none of these transactions.
    func addClaims(_ lookup: Lookup, to transactions: inout [KnownTransaction]) async throws -> [StrayClaim] {
        let rows = try await connection.query(
            """
            SELECT transaction_id, bundle_id, outcome, user_id, order_id, attempted_at
            FROM (
                SELECT
                    *, row_number() OVER (PARTITION BY transaction_id, bundle_id ORDER BY claim_id DESC) AS rank
                FROM claims
                WHERE transaction_id = ANY (\(lookup.ids))
            ) AS ranked
            WHERE rank <= \(Lookup.evidence)
            ORDER BY claim_id
            """)
        var strays: [StrayClaim] = []
        for claim in try rows.map(StrayClaim.init) where lookup.names(claim.transactionID, of: claim.bundleID) {
            let indices = transactions.indices.filter {
                transactions[$0].key.id.text == claim.transactionID
                    && transactions[$0].key.bundleID.text == claim.bundleID
            }
            if indices.isEmpty { strays.append(claim) }
            for index in indices { transactions[index].claims.append(claim.attempt) }
        }
        return strays
    }

    /// Receipts that are not verified yet, or can't be: those of the user, and those that came for the transactions or
    /// hold them; the latest first.
    func troubledReceipts(
        of id: String, among known: [Int64], _ lookup: Lookup
    ) async throws -> [KnownReceipt] {
        let uploads = try await connection.query(
            """
            SELECT DISTINCT receipt_id
            FROM uploads
            WHERE transaction_id = ANY (\(lookup.ids))
            LIMIT \(Lookup.evidence)
            """)
        let receiptIDs = try Set(known + uploads.map { try $0.decode("receipt_id", as: Int64.self) }).sorted()
        let columns: SQL =
            """
            bucket, receipt_id, bundle_id, user_id, order_id, transaction_id, device::text AS device, submitted_at,
            state, attempts, error_code, error_text
            """
        let isInTrouble: SQL = "(error_code IS NOT NULL OR state = 'waiting')"
        return try await connection.query(
            """
            (
                SELECT \(columns)
                FROM receipts
                WHERE user_id = \(id) AND \(isInTrouble)
                ORDER BY submitted_at DESC
                LIMIT \(Lookup.rowLimit)
            )
            UNION
            (
                SELECT \(columns)
                FROM \(receipts: receiptIDs, of: "receipts")
                WHERE \(isInTrouble)
                ORDER BY submitted_at DESC
                LIMIT \(Lookup.rowLimit)
            )
            ORDER BY submitted_at DESC, receipt_id
            """
        ).map(KnownReceipt.init)
    }
}

extension Sighting {
    fileprivate init(_ row: Row) throws {
        self.init(
            receiptID: try row.decode("receipt_id"), userID: try row.decode("user_id", as: String?.self),
            orderID: try row.decode("order_id", as: String?.self), isNamed: try row.decode("is_named"),
            isInReceipt: try row.decode("in_receipt"), uploadedAt: try row.decode("uploaded_at"))
    }
}

extension StrayClaim {
    fileprivate init(_ row: Row) throws {
        self.init(
            transactionID: try row.decode("transaction_id"), bundleID: try row.decode("bundle_id"),
            attempt: ClaimAttempt(
                outcome: try row.word("outcome"), userID: try row.decode("user_id"),
                orderID: try row.decode("order_id", as: String?.self),
                attemptedAt: try row.decode("attempted_at")))
    }
}

extension KnownReceipt {
    fileprivate init(_ row: Row) throws {
        self.init(
            receiptID: try row.decode("receipt_id"), bundleID: try row.decode("bundle_id"),
            userID: try row.decode("user_id", as: String?.self), orderID: try row.decode("order_id", as: String?.self),
            transactionID: try row.decode("transaction_id", as: String?.self),
            device: try row.decode("device", as: String?.self), submittedAt: try row.decode("submitted_at"),
            state: try row.word("state"),
            attempts: Int(try row.decode("attempts", as: Int32.self)),
            problem: try row.wordIfAny("error_code"),
            detail: try row.decode("error_text", as: String?.self))
    }
}
