public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Receipts that could not be used, the latest first; listed for thirty days after they were given up, which may be
    /// long after their upload.
    public func forEachUnusableReceipt(
        now: Date, _ body: (TroubledReceipt) throws -> Void
    ) async throws(LedgerError) {
        let since = now.addingTimeInterval(-Self.listing)
        try await forEachReceipt(
            with: ReceiptProblem.allCases.filter { !$0.mayPass },
            where: """
                last_attempt_at >= \(since) AND (
                    error_code <> \(ReceiptProblem.transactionMissing.rawValue)
                    OR (
                        attempts >= \(Int32(Patience.nightsWithoutNamed))
                        -- Unless another receipt brought it since.
                        AND receipt_id IN (SELECT receipt_id FROM unmet)))
                """,
            given: """
                WITH named AS MATERIALIZED (
                    SELECT receipt_id, bundle_id, uploads.transaction_id
                    FROM receipts
                    JOIN uploads USING (bucket, receipt_id)
                    WHERE receipts.error_code = \(ReceiptProblem.transactionMissing.rawValue)
                        AND receipts.attempts >= \(Int32(Patience.nightsWithoutNamed))
                        AND receipts.last_attempt_at >= \(since) AND uploads.transaction_id IS NOT NULL
                ), unmet AS MATERIALIZED (
                    SELECT receipt_id
                    FROM named
                    WHERE NOT EXISTS (
                        SELECT FROM \(whole(.transactions)) AS held
                        WHERE held.transaction_id = named.transaction_id AND held.bundle_id = named.bundle_id)
                )
                """, body)
    }

    /// Receipts that could not be verified yet: those that met a trouble, and then those whose turn never came. Of
    /// either the latest come first.
    public func forEachUnverifiedReceipt(
        now: Date, _ body: (TroubledReceipt) throws -> Void
    ) async throws(LedgerError) {
        try await forEachReceipt(
            with: ReceiptProblem.allCases.filter(\.mayPass), where: "state <> 'settled'", body)
        try await forEachReceiptWithoutTurn(now: now, body)
    }

    /// Receipts that were due in nights of three days or more, each of which ended before their turn. Nothing is
    /// written beside them, as nothing is known of them.
    private func forEachReceiptWithoutTurn(
        now: Date, _ body: (TroubledReceipt) throws -> Void
    ) async throws(LedgerError) {
        try await translating {
            let nights = try await connection.query(
                """
                WITH short AS (
                    SELECT
                        max(as_of) AS as_of,
                        (array_agg(reason ORDER BY run_id DESC) FILTER (WHERE reason IS NOT NULL))[1] AS reason
                    FROM runs
                    WHERE state <> 'complete' AND as_of <= \(now)
                    GROUP BY (as_of AT TIME ZONE 'UTC')::date
                )
                SELECT
                    min(as_of) AS since,
                    coalesce((array_agg(reason ORDER BY as_of DESC) FILTER (WHERE reason IS NOT NULL))[1], '') AS reason
                FROM (SELECT * FROM short ORDER BY as_of DESC LIMIT \(Self.nightsWithoutTurn)) AS latest
                HAVING count(*) = \(Self.nightsWithoutTurn)
                """)
            guard let night = nights.first else { return }
            try await connection.forEachRow(
                """
                SELECT
                    \(Self.receipt), \(ReceiptProblem.noTurn.rawValue) AS error_code,
                    \(try night.decode("reason", as: String.self)) AS error_text
                FROM receipts
                WHERE state = 'waiting' AND last_attempt_at IS NULL AND error_code IS NULL
                    -- Since it came in: it may have been uploaded elsewhere long before.
                    AND next_attempt_at <= \(try night.decode("since", as: Date.self))
                ORDER BY submitted_at DESC, receipt_id
                """
            ) { row in
                try body(try TroubledReceipt(row))
            }
        }
    }

    /// In how many nights a receipt may be due in vain before it is listed.
    private static let nightsWithoutTurn: Int64 = 3

    /// What is told of a receipt, whatever its trouble.
    private static let receipt: SQL = """
        receipt_id, bundle_id, user_id, order_id, transaction_id, device::text AS device, submitted_at, attempts
        """

    /// How long what can't be mended from here is listed.
    static let listing: TimeInterval = 30 * 24 * 3600

    private func forEachReceipt(
        with problems: [ReceiptProblem], where condition: SQL, given known: SQL = "",
        _ body: (TroubledReceipt) throws -> Void
    ) async throws(LedgerError) {
        try await translating {
            try await connection.forEachRow(
                """
                \(known)
                SELECT \(Self.receipt), error_code, error_text
                FROM receipts
                WHERE error_code IS NOT NULL AND error_code = ANY (\(problems.map(\.rawValue))) AND \(condition)
                ORDER BY submitted_at DESC, receipt_id
                """
            ) { row in
                try body(try TroubledReceipt(row))
            }
        }
    }
}

extension TroubledReceipt {
    fileprivate init(_ row: Row) throws {
        self.init(
            receiptID: try row.decode("receipt_id"), bundleID: try row.decode("bundle_id"),
            userID: try row.decode("user_id", as: String?.self), orderID: try row.decode("order_id", as: String?.self),
            transactionID: try row.decode("transaction_id", as: String?.self),
            device: try row.decode("device", as: String?.self), submittedAt: try row.decode("submitted_at"),
            attempts: Int(try row.decode("attempts", as: Int32.self)), problem: try row.word("error_code"),
            detail: try row.decode("error_text"))
    }
}
