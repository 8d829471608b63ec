import CBaselines
import Foundation
import Ledger
import PostgreSQL
import Reconciliation

/// Transactions recorded a second, over one connection. There are two limits, C programs over libpq with the same
/// binary COPY, each in its own copy of the database. One leaves the same rows, with statements for a batch that is all
/// new; the other fills only the ledger's own table.
enum RecordStage {
    private static let receipts = 32_000
    private static let transactionsOfReceipt = 10
    private static let rounds = 2
    private static let source = "record_source"

    static func measure(_ bench: Bench) async throws -> [Measurement] {
        try await bench.createDatabase(source)
        try await bench.execute(fillInbox, in: source)
        let night = try await night(bench)
        var speeds = [0.0, 0.0, 0.0]
        for _ in 0..<rounds {
            let job = try await recorded(bench, night) { try await Self.job($0, night, runID: $1) }
            let same = try await recorded(bench, night) { try baseline($0, night, runID: $1, Merge.all) }
            let bare = try await recorded(bench, night) { try baseline($0, night, runID: $1, Merge.transactions) }
            guard same.rows == job.rows else { throw BenchmarkError("the baseline left other rows than the job") }
            speeds = zip(speeds, [job.speed, same.speed, bare.speed]).map(max)
        }
        try await bench.dropDatabase(source)
        return [
            measurement(speeds[0], limit: speeds[1], "C: the same COPY and merge", aim: .atLeast(0.9)),
            measurement(speeds[0], limit: speeds[2], "C: COPY and merge into transactions alone", aim: nil),
        ]
    }

    private static func measurement(
        _ speed: Double, limit: Double, _ against: String, aim: Measurement.Aim?
    ) -> Measurement {
        Measurement(
            benchmark: "record", what: "record, batches of 500 receipts, 10 transactions", value: speed,
            unit: "transactions/s", limit: limit, against: against, aim: aim)
    }

    /// The transactions a second that the body records in its own database, for a run that has begun, and a hash of the
    /// rows that it leaves.
    private static func recorded(
        _ bench: Bench, _ night: Night, _ body: (_ database: String, _ runID: Int64) async throws -> Void
    ) async throws -> (speed: Double, rows: [[Int64?]]) {
        let name = "record"
        try await bench.copyDatabase(source, to: name)
        let runID = try await begin(bench.conninfo(name), night)
        let seconds = try await Timing.wall { try await body(bench.conninfo(name), runID) }
        let rows = try await rows(bench.conninfo(name))
        try await bench.dropDatabase(name)
        return (Double(receipts * transactionsOfReceipt) / seconds, rows)
    }

    private static func begin(_ database: String, _ night: Night) async throws -> Int64 {
        let session = try await LedgerSession.connect(LedgerSettings(database: database))
        defer { session.close() }
        return try await session.begin(
            RunStart(
                asOf: night.now, startedAt: night.now, host: "bench", processID: getpid(), programVersion: "bench"))
    }

    /// The number of rows in the tables that recording writes, and the exclusive or of their hashes, seals included.
    private static func rows(_ database: String) async throws -> [[Int64?]] {
        let connection = try await Connection.connect(ConnectionSettings(database))
        defer { connection.close() }
        let tables = try await connection.query(
            """
            SELECT ARRAY[count(*), bit_xor(hash_record_extended(t, 0))] AS figures FROM iap.transactions AS t
            UNION ALL
            SELECT ARRAY[count(*), bit_xor(hash_record_extended(s, 0))] FROM iap.sightings AS s
            UNION ALL
            SELECT ARRAY[count(*), bit_xor(hash_record_extended(r, 0))] FROM iap.receipts AS r
            UNION ALL
            SELECT ARRAY[count(*), bit_xor(hash_record_extended(r, 0))] FROM iap.runs AS r
            """)
        return try tables.map { try $0.decode("figures") }
    }

    /// Receipts spread over the buckets, about 500 in each; handed in at one moment, of whole seconds.
    private static let fillInbox: SQL =
        """
        INSERT INTO iap.receipts (
            bucket, receipt_id, bundle_id, user_id, payload, payload_sha256, submitted_at, next_attempt_at, seal)
        SELECT
            bucket, receipt_id, 'com.example.game', 'u' || number, payload, digest, submitted_at, submitted_at,
            audit.receipt_seal(
                bucket, receipt_id, 'com.example.game', 'u' || number, digest, NULL, NULL, submitted_at, 'waiting',
                false)
        FROM generate_series(1, \(Int64(receipts))) AS number
        CROSS JOIN LATERAL (SELECT repeat(md5(number::text), 190) AS payload) AS made
        CROSS JOIN LATERAL (SELECT sha256(payload::bytea) AS digest) AS hashed
        CROSS JOIN LATERAL (
            SELECT
                (get_byte(digest, 0) & 63)::smallint AS bucket, number * 64 + (get_byte(digest, 0) & 63) AS receipt_id,
                date_trunc('second', now()) - interval '1 day' AS submitted_at
        ) AS chosen
        """

    /// The transactions to be recorded, in the forms for the job and the C program.
    private struct Night {
        /// The run's present moment.
        let now: Date
        let submittedAt: Date
        let batches: [Staged]
    }

    private static func night(_ bench: Bench) async throws -> Night {
        let batches = try await batches(bench).map { try Staged($0) }
        guard let submittedAt = batches.first?.sightings.first?.uploadedAt else {
            throw BenchmarkError("the inbox is empty")
        }
        return Night(now: submittedAt.addingTimeInterval(86_400), submittedAt: submittedAt, batches: batches)
    }

    private static func batches(_ bench: Bench) async throws -> [InboxBatch] {
        let session = try await LedgerSession.connect(LedgerSettings(database: bench.conninfo(source)))
        defer { session.close() }
        var batches: [InboxBatch] = []
        for bucket in 0..<64 {
            var end = Data()
            while true {
                let batch = try await session.nextBatch(buckets: [bucket], after: end, limit: 500, now: Date())
                end = batch.end
                batches.append(batch)
                if batch.isLast { break }
            }
        }
        return batches
    }

    // MARK: The job

    private static func job(_ database: String, _ night: Night, runID: Int64) async throws {
        let session = try await LedgerSession.connect(LedgerSettings(database: database))
        defer { session.close() }
        for batch in night.batches {
            let record = BatchRecord(
                runID: runID, now: night.now, sightings: batch.sightings, receipts: batch.receipts)
            _ = try await session.record(record)
        }
    }

    /// What verifying and screening a batch leave to record.
    private struct Staged {
        let bucket: Int
        let sightings: [SightedTransaction]
        let receipts: [TriedReceipt]

        init(_ batch: InboxBatch) throws {
            let waiting = batch.groups.flatMap(\.receipts)
            bucket = batch.buckets.first ?? 0
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
                ScreenedTransaction(subject: subject, source: .verifyReceipt, verifiedAt: verifiedAt), receipt: receipt)
        }
    }

    // MARK: The limit

    private static func baseline(_ database: String, _ night: Night, runID: Int64, _ merge: Merge) throws {
        var buffers: [UnsafeMutableBufferPointer<Int64>] = []
        let texts = merge.statements.map { strdup($0) }
        defer {
            for buffer in buffers { buffer.deallocate() }
            for text in texts { free(text) }
        }
        let batches = night.batches.map { batch in
            let ids = batch.receipts.map(\.id).sorted()
            let buffer = UnsafeMutableBufferPointer<Int64>.allocate(capacity: ids.count)
            _ = buffer.initialize(from: ids)
            buffers.append(buffer)
            return CBaselines_Batch(
                bucket: Int16(batch.bucket), receiptIDs: UnsafePointer(buffer.baseAddress), count: ids.count)
        }
        var error = [CChar](repeating: 0, count: 500)
        let recorded = texts.map { UnsafePointer($0) }.withUnsafeBufferPointer { statements in
            var recording = CBaselines_Recording(
                runID: runID, now: night.now.microseconds, submittedAt: night.submittedAt.microseconds,
                transactionsOfReceipt: Int32(transactionsOfReceipt), isSighting: merge.isSighting ? 1 : 0,
                statements: statements.baseAddress, statementCount: statements.count)
            return CBaselines_record(database, &recording, batches, batches.count, &error, error.count)
        }
        guard recorded == receipts * transactionsOfReceipt else {
            let reason = String(decoding: error.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw BenchmarkError("the baseline failed: \(reason)")
        }
    }
}

extension Date {
    /// Microseconds since 2000, as PostgreSQL counts, of a moment of whole seconds.
    fileprivate var microseconds: Int64 { (Int64(timeIntervalSince1970) - 946_684_800) * 1_000_000 }
}

/// What the C program does with a staged batch. The statements suit a batch that is all new, with nothing excluded,
/// refunded or delivered: there is nothing to look up and nothing that could move.
private struct Merge {
    let statements: [String]
    let isSighting: Bool

    /// The minimum with which a batch can be recorded again without harm.
    static let transactions = Merge(
        statements: [enter + " ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING"], isSighting: false)
    /// Everything that a batch of new transactions changes in the tables.
    static let all = Merge(statements: [enter, sight, settle], isSighting: true)

    private static let enter = """
        INSERT INTO iap.transactions
        SELECT new.*, audit.seal(ROW(new.*, NULL, NULL, NULL, NULL, NULL, false)::iap.transactions)
        FROM (
            SELECT
                transaction_id, heard.bundle_id, environment, 'white'::text, original_transaction_id,
                heard.product_id, coalesce(product_type, listed.type), quantity, purchased_at, original_purchased_at,
                expires_at, is_trial, web_order_line_item_id, app_account_token, price_milliunits, heard.currency,
                storefront, found_bundle_id, NULL::timestamptz, NULL::text, NULL::bigint, NULL::timestamptz, source,
                verified_at,
                CASE
                    WHEN price_milliunits IS NOT NULL THEN price_milliunits WHEN is_trial THEN 0
                    ELSE list_price_milliunits * quantity
                END,
                CASE WHEN price_milliunits IS NOT NULL THEN heard.currency ELSE listed.currency END,
                CASE
                    WHEN price_milliunits IS NOT NULL THEN 'apple' WHEN is_trial THEN 'trial'
                    WHEN list_price_milliunits IS NOT NULL THEN 'list' ELSE 'unknown'
                END,
                nextval('iap.trail'), $2::timestamptz, $1::bigint, NULL::text, NULL::bigint, 1, verified_at,
                NULL::text, NULL::text, NULL::text, NULL::timestamptz, NULL::text, NULL::timestamptz, NULL::bigint,
                NULL::bigint
            FROM heard
            LEFT JOIN iap.products AS listed
                ON listed.bundle_id = heard.bundle_id AND listed.product_id = heard.product_id
        ) AS new
        """

    private static let sight = """
        INSERT INTO iap.sightings
        SELECT sighting.*, audit.seal(ROW(sighting.*, NULL)::iap.sightings)
        FROM (
            SELECT
                transaction_id, bundle_id, environment, $3::smallint, seen.receipt_id, seen.user_id, seen.order_id,
                is_named, in_receipt, uploaded_at, $1::bigint
            FROM seen
            CROSS JOIN unnest(numbers) AS number
            JOIN heard USING (number)
        ) AS sighting
        """

    private static let settle = """
        WITH settled AS (
            UPDATE iap.receipts
            SET state = 'watched', attempts = 0, next_attempt_at = $2::timestamptz + interval '20 hours',
                last_attempt_at = $2::timestamptz, verified_at = $2::timestamptz, error_code = NULL, error_text = NULL,
                seal = audit.receipt_seal(
                    bucket, receipts.receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id,
                    submitted_at, 'watched', is_erased)
            FROM (SELECT DISTINCT receipt_id FROM seen) AS tried
            WHERE bucket = $3::smallint AND receipts.receipt_id = tried.receipt_id
            RETURNING receipts.receipt_id
        ), total AS (
            SELECT
                count(*) AS transactions, coalesce(sum(quantity), 0) AS units,
                coalesce(bit_xor(hashtextextended(transaction_id, 0)), 0) AS hash
            FROM heard
        )
        UPDATE iap.runs
        SET receipts_verified = receipts_verified + (SELECT count(*) FROM settled),
            verified = ARRAY[verified[1] + transactions, verified[2] + units, verified[3] # hash],
            newly_white = ARRAY[newly_white[1] + transactions, newly_white[2] + units, newly_white[3] # hash]
        FROM total
        WHERE run_id = $1::bigint
        """
}
