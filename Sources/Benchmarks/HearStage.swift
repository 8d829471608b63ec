import AppStore
import AppStoreSimulator
import Foundation
import PostgreSQL

/// The cost of hearing Apple's notifications of a day's purchases. All of these were delivered, so there is nothing to
/// do but hear.
enum HearStage {
    private static let purchases = 20_000
    /// Apple's limit: so many pages of its history a second, of twenty notifications each.
    private static let pagesPerSecond = 50.0
    private static let pageLength = 20.0
    /// In seconds.
    private static let latency = 0.2

    static func measure(_ bench: Bench) async throws -> [Measurement] {
        let now = Date()
        let store = SimulatedAppStore(
            seed: Bench.seed, records: records(now), latency: try Latency(median: latency, percentile99: latency))
        let addresses = try store.start()
        defer { store.stop() }
        try await bench.createDatabase("hear")
        let configuration = try bench.configuration(
            database: "hear", store: "http://127.0.0.1:9", apple: try apple(addresses, store, bench),
            app: try key(store, bench))
        let idle = try await quietNight(bench)
        try await deliver(bench, now)
        let night = try await bench.night(configuration)
        try await bench.dropDatabase("hear")
        let pages = Double(purchases) / pageLength
        let cost = (night.processor - idle) / Double(purchases)
        return [
            Measurement(
                benchmark: "hear", what: "\(purchases) notifications, 200 ms latency", value: night.seconds, unit: "s",
                limit: pages / pagesPerSecond, against: "Apple's 50 pages a second", aim: .atMost(1.3)),
            Measurement(
                benchmark: "hear", what: "the job's processor, a notification", value: cost * 1e6, unit: "µs",
                limit: try signatures(of: store) * 1e6, against: "its two signatures", aim: .atMost(1.5)),
            Measurement(
                benchmark: "hear", what: "\(purchases) notifications", value: night.peakMemory, unit: "MB", limit: 150,
                against: "150 MB of memory", aim: .atMost(1)),
        ]
    }

    private static func records(_ now: Date) -> StoreRecords {
        var records = StoreRecords(apps: [SimulatedApp(bundleID: Bench.bundleID, seed: Bench.seed)])
        for number in 0..<purchases {
            let transaction = SimulatedTransaction(
                id: id(number), productID: "gems.100", purchasedAt: now - 86_400 + Double(number),
                price: SimulatedTransaction.Price(milliunits: 1_990, currency: "USD"))
            records.add(
                StoredPurchase(transaction, bundleID: Bench.bundleID, account: "bench-\(number / 3)"))
        }
        return records
    }

    private static func id(_ number: Int) -> String { String(2_000_000_000_000_000 + number) }

    /// Has the app's server admit and claim all of it.
    private static func deliver(_ bench: Bench, _ now: Date) async throws {
        try await bench.execute(
            """
            SELECT
                iap.admit(
                    \(Bench.bundleID), 'Production', id, id, 'gems.100', 1, \(now) - interval '1 day', 'u' || id),
                iap.claim(\(Bench.bundleID), id, 'u' || id)
            FROM (SELECT (2000000000000000 + n)::text AS id FROM generate_series(0, \(Int64(purchases - 1))) AS n) AS bought
            """, in: "hear")
    }

    /// The processor's seconds for a night on which there is nobody to hear.
    private static func quietNight(_ bench: Bench) async throws -> Double {
        try await bench.night(try bench.configuration(database: "hear", store: "http://127.0.0.1:9")).processor
    }

    /// The processor's seconds for checking the signatures of a notification and of the transaction in it.
    private static func signatures(of store: SimulatedAppStore) throws -> Double {
        let payloads = Array(store.notifications(of: Bench.bundleID).prefix(2_000))
        let verifier = JWSVerifier(roots: try TrustRoots.none.adding(contentsOf: store.rootCertificatesPEM.utf8))
        let expectation = JWSExpectation(bundleID: Bench.bundleID, environments: [.production])
        let seconds = try Timing.best(
            of: 5, [{ for payload in payloads { _ = try verifier.notification(payload, expecting: expectation) } }])
        return seconds[0] / Double(payloads.count)
    }

    // MARK: The configuration

    private static func apple(
        _ addresses: SimulatedAppStore.Addresses, _ store: SimulatedAppStore, _ bench: Bench
    ) throws -> String {
        let roots = "\(bench.scratch)/roots.pem"
        try store.rootCertificatesPEM.write(toFile: roots, atomically: true, encoding: .utf8)
        return """
            server_api_production = \(addresses.productionServerAPI)
            server_api_sandbox = \(addresses.sandboxServerAPI)
            root_certificates = \(roots)
            """
    }

    private static func key(_ store: SimulatedAppStore, _ bench: Bench) throws -> String {
        let file = "\(bench.scratch)/server-api.p8"
        try store.apiKey.privateKeyPEM.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        return """
            verification = verify-receipt
            server_api_issuer_id = \(APIKey.issuerID)
            server_api_key_id = \(APIKey.keyID)
            server_api_key_file = \(file)
            """
    }
}
