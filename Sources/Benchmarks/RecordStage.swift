import CBaselines
import Foundation
import Ledger
import PostgreSQL
import Reconciliation

/// Transactions recorded a second, over one connection. The limit is a C program over libpq that does the same binary
/// COPY and the same statements, and a second one that does no more than one merge: each in a copy of the same
/// database.
enum RecordStage {
    private static let receipts = 32_000
    private static let transactionsOfReceipt = 10
    private static let rounds = 2
    private static let source = "record_source"

    static func measure(_ bench: Bench) async throws -> [Measurement] {
        try await bench.createDatabase(source)
        try await bench.execute(fillInbox, in: source)
        let batches = try await batches(bench)
        let staged = try batches.map { try Staged($0) }
        var speeds = [0.0, 0.0, 0.0]
        for _ in 0..<rounds {
            let found = [
                try await speed(bench) { try await job(bench.conninfo($0), staged) },
                try await speed(bench) { try baseline(bench.conninfo($0), batches, Merges.all) },
                try await speed(bench) { try baseline(bench.conninfo($0), batches, Merges.white) },
            ]
            speeds = zip(speeds, found).map(max)
        }
        try await bench.dropDatabase(source)
        return [
            measurement(speeds[0], limit: speeds[1], "C: the same COPY and merge", aim: .atLeast(0.9)),
            measurement(speeds[0], limit: speeds[2], "C: COPY and merge into white alone", aim: nil),
        ]
    }

    private static func measurement(
        _ speed: Double, limit: Double, _ against: String, aim: Measurement.Aim?
    ) -> Measurement {
        Measurement(
            benchmark: "record", what: "record, batches of 500 receipts, 10 transactions", value: speed,
            unit: "transactions/s", limit: limit, against: against, aim: aim)
    }

    /// The transactions a second that the body records in a database of its own.
    private static func speed(
        _ bench: Bench, _ body: (_ database: String) async throws -> Void
    ) async throws -> Double {
        try await bench.copyDatabase(source, to: "record")
        let seconds = try await Timing.wall { try await body("record") }
        try await bench.dropDatabase("record")
        return Double(receipts * transactionsOfReceipt) / seconds
    }

    /// Receipts spread over the buckets, about 500 in each.
    private static let fillInbox: SQL =
        """
        INSERT INTO iap.receipts (
            bucket, receipt_id, bundle_id, user_id, payload, payload_sha256, submitted_at, next_attempt_at)
        SELECT
            get_byte(digest, 0) & 63, number * 64 + (get_byte(digest, 0) & 63), 'com.example.game', 'u' || number,
            payload, digest, now() - interval '1 day', now() - interval '1 day'
        FROM generate_series(1, \(Int64(receipts))) AS number
        CROSS JOIN LATERAL (SELECT repeat(md5(number::text), 190) AS payload) AS made
        CROSS JOIN LATERAL (SELECT sha256(payload::bytea) AS digest) AS hashed
        """

    private static func batches(_ bench: Bench) async throws -> [InboxBatch] {
        let session = try await LedgerSession.connect(LedgerSettings(database: bench.conninfo(source)))
        defer { session.close() }
        var batches: [InboxBatch] = []
        for bucket in 0..<64 {
            var end = Data()
            while true {
                let batch = try await session.nextBatch(bucket: bucket, after: end, limit: 500, now: Date())
                end = batch.end
                batches.append(batch)
                if batch.isLast { break }
            }
        }
        return batches
    }

    // MARK: The job

    private static func job(_ database: String, _ batches: [Staged]) async throws {
        let session = try await LedgerSession.connect(LedgerSettings(database: database))
        defer { session.close() }
        let now = Date()
        let runID = try await session.begin(
            RunStart(
                asOf: now, startedAt: now, host: "bench", processID: getpid(), programVersion: "bench",
                receiptsDue: receipts))
        for batch in batches {
            let record = BatchRecord(
                runID: runID, bucket: batch.bucket, now: now, sightings: batch.sightings, receipts: batch.receipts)
            _ = try await session.record(record)
        }
    }

    /// What verifying and screening a batch leave to be recorded.
    private struct Staged {
        let bucket: Int
        let sightings: [SightedTransaction]
        let receipts: [TriedReceipt]

        init(_ batch: InboxBatch) throws {
            let waiting = batch.groups.flatMap(\.receipts)
            bucket = batch.bucket
            sightings = try waiting.flatMap { try RecordStage.sightings($0) }
            receipts = waiting.map { TriedReceipt(id: $0.id, outcome: .verified) }
        }
    }

    private static func sightings(_ receipt: InboxReceipt) throws -> [SightedTransaction] {
        guard let bundleID = BundleID(receipt.bundleID), let productID = ProductID("gems.100") else {
            throw BenchmarkError("an id is none")
        }
        let app = App(bundleID: bundleID, environment: .production, grace: Grace(3600), since: nil)
        let verifiedAt = receipt.submittedAt.addingTimeInterval(86_400)
        return try (0..<transactionsOfReceipt).map { index in
            let number = 1_000_000_000_000_000 + Int(receipt.id) * transactionsOfReceipt + index
            guard let id = TransactionID(String(number)) else { throw BenchmarkError("an id is none") }
            var transaction = Transaction(id: id, productID: productID, purchasedAt: receipt.submittedAt)
            transaction.originalPurchasedAt = receipt.submittedAt
            let subject = ScreeningSubject(
                transaction: transaction, environment: .production, foundBundleID: bundleID, app: app,
                productType: .consumable, isOriginalKnown: false)
            return SightedTransaction(
                subject: subject, receipt: receipt, source: .verifyReceipt, verifiedAt: verifiedAt)
        }
    }

    // MARK: The limit

    private static func baseline(_ database: String, _ batches: [InboxBatch], _ statements: [String]) throws {
        let receipts = batches.map { $0.groups.flatMap { $0.receipts.map(\.id) } }
        var buffers: [UnsafeMutableBufferPointer<Int64>] = []
        let texts = statements.map { strdup($0) }
        defer {
            for buffer in buffers { buffer.deallocate() }
            for text in texts { free(text) }
        }
        let plain = zip(batches, receipts).map { batch, ids in
            let buffer = UnsafeMutableBufferPointer<Int64>.allocate(capacity: ids.count)
            _ = buffer.initialize(from: ids)
            buffers.append(buffer)
            return CBaselines_Batch(
                bucket: Int16(batch.bucket), receiptIDs: UnsafePointer(buffer.baseAddress), count: ids.count)
        }
        var error = [CChar](repeating: 0, count: 500)
        let pointers = texts.map { UnsafePointer($0) }
        let recorded = CBaselines_record(
            database, plain, plain.count, Int32(transactionsOfReceipt), pointers, pointers.count, &error, error.count)
        guard recorded == receipts.joined().count * transactionsOfReceipt else {
            let reason = String(decoding: error.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw BenchmarkError("the baseline failed: \(reason)")
        }
    }
}

/// What the C program does with a batch that it staged.
private enum Merges {
    /// The least that lets a batch be recorded again without harm.
    static let white = [admit, clear]
    /// All that a batch of new transactions changes in the tables.
    static let all = [admit, sight, settle, clear]

    private static let admit = """
        INSERT INTO iap.white (
            transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
            purchased_at, original_purchased_at, expires_at, is_trial, web_order_line_item_id, app_account_token,
            price_milliunits, currency, storefront, booked_milliunits, booked_currency, booked_as, source, verified_at,
            first_seen_at, first_run_id, nights_confirmed, last_confirmed_at, seal)
        SELECT
            transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
            purchased_at, original_purchased_at, expires_at, is_trial, web_order_line_item_id, app_account_token,
            price_milliunits, verified.currency, storefront,
            coalesce(price_milliunits, list_price_milliunits * quantity),
            CASE WHEN price_milliunits IS NOT NULL THEN verified.currency ELSE listed.currency END,
            CASE
                WHEN price_milliunits IS NOT NULL THEN 'apple'
                WHEN list_price_milliunits IS NOT NULL THEN 'list'
                ELSE 'unknown'
            END,
            source, verified_at, now(), 1, 1, verified_at,
            audit.white_seal(
                transaction_id, bundle_id, environment, original_transaction_id, product_id, quantity, purchased_at,
                price_milliunits, verified.currency, now())
        FROM iap.verified
        LEFT JOIN (SELECT bundle_id, product_id, list_price_milliunits, currency FROM iap.products) AS listed
            USING (bundle_id, product_id)
        WHERE bucket = $1::smallint AND is_best AND exclusion IS NULL
            AND NOT EXISTS (
                SELECT FROM iap.black
                WHERE black.transaction_id = verified.transaction_id
                    AND black.bundle_id = verified.bundle_id
                    AND black.environment = verified.environment)
        ORDER BY transaction_id, bundle_id, environment
        ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING
        """

    private static let sight = """
        INSERT INTO iap.sightings (
            transaction_id, bundle_id, environment, bucket, receipt_id, user_id, order_id, is_named, in_receipt,
            uploaded_at, first_run_id)
        SELECT
            transaction_id, bundle_id, environment, bucket, receipt_id, user_id, order_id, is_named, in_receipt,
            uploaded_at, 1
        FROM iap.verified
        WHERE bucket = $1::smallint
        ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO NOTHING
        """

    private static let settle = """
        UPDATE iap.receipts
        SET state = 'watched', next_attempt_at = now() + interval '20 hours', last_attempt_at = now(),
            verified_at = now()
        FROM (SELECT DISTINCT receipt_id FROM iap.verified WHERE bucket = $1::smallint) AS tried
        WHERE receipts.bucket = $1::smallint AND receipts.receipt_id = tried.receipt_id
        """

    private static let clear = "DELETE FROM iap.verified WHERE bucket = $1::smallint"
}
