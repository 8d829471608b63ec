import Foundation
import Ledger
import PostgreSQL
import Reconciliation

/// The speed of the job and of the support desk beside years of deliveries.
enum BlackTable {
    static let many: Int64 = 10_000_000

    /// Measures the same receipts with a black table of one row, and of ten million.
    static func nights(_ bench: Bench) async throws -> [Measurement] {
        var seconds: [Int64: Double] = [:]
        for rows in [1, many] {
            let source = try await database(bench, rows: rows)
            for _ in 0..<2 {
                let night = try await Nights.night(bench, on: source, grace: "30d")
                seconds[rows] = min(night.seconds, seconds[rows] ?? .infinity)
            }
        }
        return [
            Measurement(
                benchmark: "black", what: "10,000 receipts, ten million delivered before",
                value: seconds[many] ?? 0, unit: "s", limit: seconds[1] ?? 0, against: "the same with one delivered",
                aim: .atMost(1.2))
        ]
    }

    /// Measures `check` of a transaction's, an order's and a user's id, each from the start of the program to its end.
    static func check(_ bench: Bench) async throws -> [Measurement] {
        let source = try await database(bench, rows: many)
        let configuration = try bench.configuration(database: source, store: "http://127.0.0.1:9")
        var measurements: [Measurement] = []
        for (name, id) in [("transaction", "9000000001000000"), ("order", "o1000000"), ("user", "u1000000")] {
            var seconds: [Double] = []
            for _ in 0..<11 {
                let ended = try await Program.run(
                    "\(bench.programs)/iap-reconcile", ["check", id, "--config", configuration],
                    output: "\(bench.scratch)/check.log")
                seconds.append(ended.seconds)
            }
            measurements.append(
                Measurement(
                    benchmark: "check", what: "check of a \(name), ten million delivered",
                    value: seconds.sorted()[5] * 1000, unit: "ms", limit: 100, against: "100 ms", aim: .atMost(1)))
        }
        return measurements
    }

    /// A database with receipts that wait and this many delivered transactions of other customers, made if it isn't
    /// there yet.
    static func database(_ bench: Bench, rows: Int64) async throws -> String {
        let name = "black_\(rows)"
        if try await bench.hasDatabase(name) { return name }
        try await bench.copyDatabase(try await bench.filledDatabase(receipts: Nights.fewReceipts), to: name)
        try await bench.fill(name) { try await $0.executeScript(unsafe: deliveries(rows)) }
        try await endNight(bench.conninfo(name))
        return name
    }

    /// Statements that write this many deliveries over three years: what was delivered of late is looked at each night,
    /// as it would be at a company's. The columns are named, and the trigger seals what they make of a row, so that a
    /// column that the ledger gains changes nothing here.
    private static func deliveries(_ rows: Int64) -> String {
        """
        CREATE FUNCTION pg_temp.seal() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.seal := audit.seal(NEW);
            RETURN NEW;
        END
        $$;
        CREATE TRIGGER seal BEFORE INSERT ON iap.transactions FOR EACH ROW EXECUTE FUNCTION pg_temp.seal();
        INSERT INTO iap.transactions (
            transaction_id, bundle_id, environment, place, original_transaction_id, product_id, product_type, quantity,
            purchased_at, is_trial, source, verified_at, booked_milliunits, booked_currency, booked_as, entry_id,
            first_seen_at, nights_confirmed, user_id, order_id, delivered_by, delivered_at)
        SELECT
            id, bundle_id, 'Production', 'black', id, product_id, type, 1, delivered_at, false, 'app_server',
            delivered_at, list_price_milliunits, currency, 'list', nextval('iap.trail'), delivered_at, 0,
            'u' || number, 'o' || number, 'import', delivered_at
        FROM generate_series(1, \(rows)) AS number
        CROSS JOIN LATERAL (
            SELECT
                '9' || lpad(number::text, 15, '0') AS id,
                now() - interval '9 days' - interval '1095 days' * (1 - number::float8 / \(rows)) AS delivered_at
        ) AS made
        JOIN iap.products ON product_id = 'com.example.game.gems.60';
        DROP TRIGGER seal ON iap.transactions;
        """
    }

    /// Puts the deliveries of past years into closed books and notes their customers and prices, as a night does for
    /// those of its day.
    private static func endNight(_ database: String) async throws {
        let session = try await LedgerSession.connect(LedgerSettings(database: database))
        defer { session.close() }
        let now = Date()
        let runID = try await session.begin(
            RunStart(
                asOf: now, startedAt: now, host: "bench", processID: getpid(), programVersion: "bench"))
        _ = try await session.closeBooks(of: runID)
        guard let bundleID = BundleID(Bench.bundleID) else { throw BenchmarkError("an id is none") }
        let app = App(bundleID: bundleID, environment: .production, grace: Grace(3600), since: nil)
        try await session.noteEntered(
            of: app, reasking: Reasking(window: 90 * 86_400, interval: 30 * 86_400), at: now)
        try await session.end(runID, as: .complete, at: Date())
    }
}
