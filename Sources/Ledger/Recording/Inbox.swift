public import Foundation
import PostgreSQL
public import Reconciliation

/// How many receipts of a bucket have their turn together.
public struct DueReceipts: Hashable, Sendable {
    public let bucket: Int
    /// Whether they met a trouble when they were tried last. These come after all others: who uploads what makes Apple
    /// time out, can slow a night, but not keep the same receipts from their turn night after night.
    public let isTroubled: Bool
    public let count: Int

    public init(bucket: Int, isTroubled: Bool, count: Int) {
        self.bucket = bucket
        self.isTroubled = isTroubled
        self.count = count
    }
}

extension [DueReceipts] {
    /// How many they are together.
    public var total: Int { reduce(0) { $0 + $1.count } }
}

/// Due receipts of some buckets, as far as a batch holds them.
public struct InboxBatch: Sendable {
    public let buckets: [Int]
    public let groups: [PayloadGroup]
    /// Where the next batch of these buckets begins.
    public let end: Data
    /// Whether the buckets hold nothing due after it.
    public let isLast: Bool

    public var receiptCount: Int { groups.reduce(0) { $0 + $1.receipts.count } }
    /// How many bytes of payloads it holds in memory.
    public var payloadBytes: Int { groups.reduce(0) { $0 + $1.payload.utf8.count } }
}

extension LedgerSession {
    /// How many receipts are due at that moment, in the order in which they have their turn.
    public func dueReceipts(at now: Date) async throws(LedgerError) -> [DueReceipts] {
        try await translating {
            try await connection.query(
                """
                SELECT bucket::bigint AS bucket, attempts > 0 AS is_troubled, count(*) AS due
                FROM \(stored: .receipts)
                WHERE next_attempt_at IS NOT NULL AND \(Self.isDue(at: now))
                GROUP BY receipts.bucket, is_troubled
                ORDER BY is_troubled, bucket
                """
            ).map {
                DueReceipts(
                    bucket: try $0.decode("bucket"), isTroubled: try $0.decode("is_troubled"),
                    count: try $0.decode("due"))
            }
        }
    }

    /// The next due receipts of some buckets, in the order of their payloads, either of those that met a trouble when
    /// they were tried last, or of the others. Receipts of one payload stay together, and the payload comes once for
    /// all of them; `payloadBytes` bounds what the batch holds in memory.
    public func nextBatch(
        buckets: [Int], isTroubled: Bool = false, after: Data, limit: Int, payloadBytes: Int = 16 * 1024 * 1024,
        now: Date
    ) async throws(LedgerError) -> InboxBatch {
        let isClustered = try await isClustered()
        let chosen = Self.chosenReceipts(in: buckets.map(Int16.init))
        return try await translating {
            let rows = try await connection.query(
                """
                WITH chosen AS MATERIALIZED (
                    SELECT bucket, receipt_id, payload_sha256
                    FROM \(stored: .receipts)
                    WHERE \(isIn: buckets.map(Int16.init), of: "receipts") AND next_attempt_at IS NOT NULL
                        AND \(Self.isDue(at: now)) AND (attempts > 0) = \(isTroubled)
                        AND payload_sha256 > \(after)
                    ORDER BY payload_sha256
                    FETCH FIRST (\(limit)) ROWS WITH TIES
                ), grouped AS (
                    SELECT
                        receipts.*,
                        count(*) OVER () AS chosen,
                        row_number() OVER (
                            PARTITION BY receipts.payload_sha256, receipts.bundle_id
                            ORDER BY receipts.receipt_id) = 1 AS is_first
                    FROM (\(isClustered && buckets.count > 1 ? Self.chosenReceiptsOfCluster : chosen)) AS receipts
                ), measured AS (
                    SELECT
                        *,
                        sum(CASE WHEN is_first THEN octet_length(payload) ELSE 0 END)
                            OVER (ORDER BY payload_sha256) AS bytes,
                        rank() OVER (ORDER BY payload_sha256) AS rank
                    FROM grouped
                )
                SELECT
                    receipt_id, bundle_id, user_id, order_id, transaction_id, submitted_at, uploaded_again_at, attempts,
                    error_code, payload_sha256, chosen,
                    CASE WHEN is_first THEN payload END AS payload, upload_transaction_ids, upload_order_ids
                FROM measured
                WHERE bytes <= \(payloadBytes) OR rank = 1
                ORDER BY payload_sha256, bundle_id, receipt_id
                """)
            return try InboxBatch(buckets: buckets, rows: rows, after: after, limit: limit)
        }
    }

    /// Whether a receipt is due at that moment. Nothing puts one off for longer than a night: what would be due later
    /// came in, or was tried, while PostgreSQL's clock was ahead, and must not wait until that day comes.
    private static func isDue(at now: Date) -> SQL {
        "(next_attempt_at <= \(now) OR next_attempt_at > greatest(\(now), now()) + interval '1 day')"
    }

    /// What the chosen receipts hold, and for what each was uploaded. They are found by their keys, however small the
    /// inbox is: a scan would read all of it for each batch.
    private static func chosenReceipts(in buckets: [Int16]) -> SQL {
        """
        SELECT found.*, purposes.*
        FROM chosen
        CROSS JOIN LATERAL (
            SELECT * FROM \(stored: .receipts) AS held
            WHERE held.bucket = chosen.bucket AND held.receipt_id = chosen.receipt_id
                \(andIsInOnly: buckets, of: "held")
            OFFSET 0
        ) AS found
        CROSS JOIN LATERAL (
            SELECT
                array_agg(transaction_id ORDER BY first_uploaded_at) AS upload_transaction_ids,
                array_agg(order_id ORDER BY first_uploaded_at) AS upload_order_ids
            FROM iap.uploads
            WHERE uploads.bucket = chosen.bucket AND uploads.receipt_id = chosen.receipt_id
                \(andIsInOnly: buckets, of: "uploads")
        ) AS purposes
        """
    }

    /// The same for several buckets, as Citus hands it to the servers that hold them.
    private static let chosenReceiptsOfCluster: SQL = """
        SELECT held.*, upload_transaction_ids, upload_order_ids
        FROM chosen
        JOIN \(stored: .receipts) AS held USING (bucket, receipt_id)
        LEFT JOIN (
            SELECT
                bucket, receipt_id, array_agg(uploads.transaction_id ORDER BY first_uploaded_at) AS upload_transaction_ids,
                array_agg(uploads.order_id ORDER BY first_uploaded_at) AS upload_order_ids
            FROM chosen
            JOIN iap.uploads USING (bucket, receipt_id)
            GROUP BY bucket, receipt_id
        ) AS purposes USING (bucket, receipt_id)
        """

    /// Makes those receipts due again that were tried at this moment, the run's present, and met one of these problems.
    /// The trouble was Apple's, so the attempt does not count, and the next run need not wait for the next night.
    public func makeDueAgain(_ problems: [ReceiptProblem], triedAt now: Date) async throws(LedgerError) {
        _ = try await translating {
            try await connection.execute(
                """
                UPDATE receipts
                SET next_attempt_at = last_attempt_at, attempts = greatest(attempts - 1, 0)
                WHERE error_code IS NOT NULL AND error_code = ANY (\(problems.map(\.rawValue)))
                    AND last_attempt_at = \(now) AND next_attempt_at IS NOT NULL
                """)
        }
    }
}

extension InboxBatch {
    fileprivate init(buckets: [Int], rows: [Row], after: Data, limit: Int) throws {
        var groups: [(bundleID: String, payload: String, receipts: [InboxReceipt])] = []
        for row in rows {
            if let payload = try row.decode("payload", as: String?.self) {
                groups.append((try row.decode("bundle_id"), payload, []))
            }
            if let last = groups.indices.last { groups[last].receipts.append(try InboxReceipt(row)) }
        }
        let chosen = try rows.first?.decode("chosen", as: Int.self) ?? 0
        self.init(
            buckets: buckets,
            groups: groups.map { PayloadGroup(bundleID: $0.bundleID, payload: $0.payload, receipts: $0.receipts) },
            end: try rows.last?.decode("payload_sha256") ?? after, isLast: chosen < limit && rows.count == chosen)
    }
}

extension InboxReceipt {
    fileprivate init(_ row: Row) throws {
        let order = try row.decode("order_id", as: String?.self)
        let transactions = try row.decode("upload_transaction_ids", as: [String?]?.self)
        let orders = try row.decode("upload_order_ids", as: [String?]?.self)
        let purposes = zip(transactions ?? [], orders ?? []).map(Purpose.init)
        let own = Purpose(transactionID: try row.decode("transaction_id", as: String?.self), orderID: order)
        self.init(
            id: try row.decode("receipt_id"), bundleID: try row.decode("bundle_id"),
            userID: try row.decode("user_id", as: String?.self), orderID: order,
            purposes: purposes.contains(own) ? purposes : [own] + purposes,
            submittedAt: try row.decode("submitted_at"), trouble: try row.trouble,
            uploadedAgainAt: try row.decode("uploaded_again_at", as: Date?.self))
    }
}

extension Row {
    /// The trouble that the receipt of this row met when it was last tried; `nil` also for one that a later program has a
    /// word for. It only says whether the trouble that the receipt meets now is the same as before, and that one is not:
    /// the night need not end for it, and writes its own word.
    var trouble: ReceiptTrouble? {
        get throws {
            let problem = try decode("error_code", as: String?.self).flatMap(ReceiptProblem.init)
            let nights = Int(try decode("attempts", as: Int32.self))
            return problem.map { ReceiptTrouble($0, nights: nights) }
        }
    }
}
