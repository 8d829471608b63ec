import Verification
import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// A scenario that is played by hand: customers buy in the simulated App Store, clients upload, the app's server claims,
/// and then nights follow.
struct Play {
    static let bundleID = "com.example.game"
    static let foreignBundleID = "com.example.other"

    let database: ScratchDatabase
    let store: SimulatedAppStore
    /// Where the store hands out sales reports.
    let appStoreConnect: String
    var settings: JobSettings
    /// The database's clock says when something was uploaded, so the play is set in the present.
    let began = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))

    /// From here on the foreign app has a section of its own.
    mutating func addForeignApp() throws {
        settings.apps.append(
            AppSettings(
                app: App(
                    bundleID: try #require(BundleID(Self.foreignBundleID)), environment: .production,
                    grace: Grace(3600), since: nil)))
    }

    /// A purchase that the store has in its books.
    func buy(
        _ id: String, _ product: String = "gems.60", account: String = "anna", hoursAgo: Double = 200,
        _ change: (inout SimulatedTransaction) -> Void = { _ in }
    ) -> SimulatedTransaction {
        var transaction = SimulatedTransaction(
            id: id, productID: product, purchasedAt: began - hoursAgo * 3600,
            price: SimulatedTransaction.Price(milliunits: 990, currency: "USD"))
        change(&transaction)
        let purchase = StoredPurchase(transaction, bundleID: Self.bundleID, account: account)
        store.update { $0.add(purchase) }
        return transaction
    }

    /// What a client uploads for these purchases.
    func receipt(
        _ transactions: [SimulatedTransaction], style: SimulatedReceipt.Style = .appReceipt,
        bundleID: String = Self.bundleID, environment: StoreEnvironment = .production, account: String = "anna",
        madeHoursAgo: Double = 0.5
    ) -> String {
        store.makeReceipt(
            SimulatedReceipt(
                style: style, bundleID: bundleID, environment: environment, account: account,
                createdAt: began - madeHoursAgo * 3600, transactions: transactions))
    }

    @discardableResult
    func upload(
        _ payload: String, by user: String? = "anna", for transaction: SimulatedTransaction? = nil,
        order: String? = nil, device: String? = nil
    ) async throws -> Int64 {
        let row = try await server(
            """
            SELECT iap.submit_receipt(
                \(Self.bundleID), \(user), \(payload), \(transaction?.id), \(order), \(device)::jsonb) AS answer
            """)
        return try row.decode("answer")
    }

    /// An order that the app's own server opened.
    func order(
        _ id: String, by user: String = "anna", product: String = "gems.60", token: String? = nil, hoursAgo: Double
    ) async throws {
        _ = try await server(
            """
            SELECT iap.register_order(
                \(Self.bundleID), \(id), \(user), \(product), 1, \(token), \(began - hoursAgo * 3600))
            """)
    }

    /// What the app's server is told when it claims.
    @discardableResult
    func claim(
        _ transaction: SimulatedTransaction, for user: String = "anna", order: String? = nil
    ) async throws -> String {
        try await server("SELECT iap.claim(\(Self.bundleID), \(transaction.id), \(user), \(order)) AS answer")
            .decode("answer")
    }

    /// What the app's server is told when it hands in what it verified itself.
    @discardableResult
    func admit(_ transaction: SimulatedTransaction, for user: String = "anna") async throws -> String {
        try await server(
            """
            SELECT iap.admit(
                \(Self.bundleID), 'Production', \(transaction.id), \(transaction.originalID), \(transaction.productID),
                \(Int32(transaction.quantity)), \(transaction.purchasedAt), \(user)) AS answer
            """
        ).decode("answer")
    }

    /// The n-th night after the play: the first is tonight.
    func night(
        _ number: Int = 1, isDryRun: Bool = false, limit: Int? = nil,
        log: @escaping @Sendable (LogEntry) -> Void = { _ in }
    ) async throws -> (report: RunReport, findings: Collector) {
        var findings = Collector()
        let job = NightlyJob(settings: settings, programVersion: "test", log: log, progress: { _ in })
        let now = began + 3600 + Double(number - 1) * 86_400
        let report = try await job.run(
            RunOptions(isDryRun: isDryRun, limit: limit, now: now), stop: StopSignal(), findings: &findings)
        #expect(report.totals.imbalances == [])
        return (report, findings)
    }

    /// The latest night's report, written again.
    func reportAgain() async throws -> RunReport {
        var findings = Collector()
        let job = NightlyJob(settings: settings, programVersion: "test", log: { _ in }, progress: { _ in })
        return try await job.report(run: nil, findings: &findings)
    }

    /// One value that the superuser sees.
    func count(_ sql: SQL) async throws -> Int {
        let connection = try await database.connect()
        defer { connection.close() }
        return try #require(try await connection.query("SELECT count(*) AS n FROM \(sql)").first).decode("n")
    }

    /// One value of a row, as text.
    func text(_ sql: SQL) async throws -> String? {
        let connection = try await database.connect()
        defer { connection.close() }
        return try await connection.query("SELECT (\(sql))::text AS text").first?.decode("text", as: String?.self)
    }

    /// Ends the sessions of the app's servers.
    func endServers() async throws {
        _ = try await text(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND usename = 'iap_app'
            """)
    }

    func administer(_ sql: SQL) async throws {
        let connection = try await database.connect()
        defer { connection.close() }
        try await connection.execute(sql)
    }

    func server(_ sql: SQL) async throws -> Row {
        let connection = try await database.connect(as: "iap_app")
        defer { connection.close() }
        return try #require(try await connection.query(sql).first)
    }
}

/// A play of one app, for which the job has a shared secret, and a key for the App Store Server API if it is asked for.
///
/// - Parameter notices: what Apple tells of it by itself; nothing unless it is named.
func withPlay<Value>(
    _ verification: VerificationMethod = .auto, hasKey: Bool = false, notices: NoticePolicy? = nil,
    faults: Faults = .none,
    _ body: (Play) async throws -> Value
) async throws -> Value {
    let app = SimulatedApp(bundleID: Play.bundleID, seed: 7)
    let foreign = SimulatedApp(bundleID: Play.foreignBundleID, seed: 7)
    var records = StoreRecords(apps: [app, foreign])
    if let notices { records.notices = notices } else { records.notices.since = .distantFuture }
    let store = SimulatedAppStore(seed: 7, records: records, faults: faults)
    let addresses = try store.start()
    defer { store.stop() }
    let roots = try RootsFile(of: store)
    defer { roots.remove() }
    return try await withScratchDatabase { database async throws -> Value in
        let settings = AppSettings(
            app: App(
                bundleID: try #require(BundleID(Play.bundleID)), environment: .production, grace: Grace(3600),
                since: nil),
            sharedSecret: app.sharedSecret.map { Secret($0) }, verification: verification,
            serverAPI: hasKey
                ? ServerAPIAccess(
                    issuerID: APIKey.issuerID, keyID: APIKey.keyID, key: Secret(store.apiKey.privateKeyPEM)) : nil)
        var job = JobSettings(database: database.conninfo(as: "iap_job"), apps: [settings])
        job.apple = AppleSettings(at: addresses, roots: roots.path)
        return try await body(
            Play(database: database, store: store, appStoreConnect: addresses.appStoreConnect, settings: job))
    }
}
