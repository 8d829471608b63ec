import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// A ledger of its own, with what a test of the Ledger room hands it.
struct LedgerBench {
    static let bundleID = "com.example.a"

    let database: ScratchDatabase

    func session(as role: String = "iap_job", present: Date? = nil) async throws -> LedgerSession {
        var settings = LedgerSettings(database: database.conninfo(as: role))
        settings.present = present
        return try await LedgerSession.connect(settings)
    }

    /// One value that the superuser sees.
    func value<Value: ColumnValue>(_ sql: SQL, as type: Value.Type = Value.self) async throws -> Value {
        let connection = try await database.connect()
        defer { connection.close() }
        return try #require(try await connection.query("SELECT \(sql) AS value").first).decode("value")
    }

    func execute(_ sql: SQL) async throws {
        let connection = try await database.connect()
        defer { connection.close() }
        try await connection.execute(sql)
    }

    func submit(_ payload: String, user: String? = "ann", for transaction: String? = nil) async throws -> Int64 {
        try await value("iap.submit_receipt(\(Self.bundleID), \(user), \(payload), \(transaction))")
    }

    static func app() throws -> App {
        App(
            bundleID: try #require(BundleID(bundleID)), environment: .production, grace: Grace(3600),
            since: nil)
    }

    /// What a receipt of the inbox showed, as the screen stage gives it.
    static func sighting(
        _ id: String, receipt: Int64, user: String? = "ann", product: String = "gems", source: Source = .verifyReceipt,
        at verifiedAt: Date, _ change: (inout Transaction) -> Void = { _ in }
    ) throws -> SightedTransaction {
        var transaction = Transaction(
            id: try #require(TransactionID(id)), productID: try #require(ProductID(product)),
            purchasedAt: verifiedAt - 7200)
        change(&transaction)
        let app = try app()
        let subject = ScreeningSubject(
            transaction: transaction, environment: .production, foundBundleID: app.bundleID, app: app,
            productType: transaction.productType, isOriginalKnown: false)
        let inbox = InboxReceipt(
            id: receipt, bundleID: bundleID, userID: user, orderID: nil,
            purposes: [.init(transactionID: id, orderID: nil)], submittedAt: verifiedAt - 3600)
        return SightedTransaction(
            ScreenedTransaction(subject: subject, source: source, verifiedAt: verifiedAt), receipt: inbox)
    }

    /// Records what one receipt showed.
    func record(
        _ sightings: [SightedTransaction], receipts: [Int64], run: Int64 = 1, at now: Date, _ session: LedgerSession
    ) async throws -> BatchTotals {
        try await session.record(
            BatchRecord(
                runID: run, now: now, sightings: sightings,
                receipts: receipts.map { TriedReceipt(id: $0, outcome: .verified) }))
    }

    func begin(at now: Date, _ session: LedgerSession) async throws -> Int64 {
        let run = try await session.begin(
            RunStart(
                asOf: now, startedAt: now, host: "test", processID: 1, programVersion: "test"))
        try await session.unlock(.run(run))
        return run
    }

    /// What does not hold.
    func violations() async throws -> [String] {
        let session = try await session()
        defer { session.close() }
        var found: [String] = []
        _ = try await session.verify { if !$0.isFine { found.append($0.description) } }
        return found
    }
}

func withLedger<Value>(_ body: (LedgerBench) async throws -> Value) async throws -> Value {
    try await withScratchDatabase { try await body(LedgerBench(database: $0)) }
}
