import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

@testable import Ledger

/// What a night knows of purchases that have something in common.
@Suite struct PatternFactsTests {
    /// A full hour.
    private let now = Date(timeIntervalSince1970: 1_790_002_800)
    private let old = #"{"model": "iPhone12,8", "os": "iOS 17.6", "app_version": "2.3"}"#
    private let new = #"{"model": "iPhone17,1", "os": "iOS 18.1", "app_version": "2.4", "name": "Phone"}"#

    private struct Purchase {
        let hoursAgo: Double
        var product = "gems"
        var user = "ann"
        var isDelivered = true
    }

    /// The facts once these purchases were made, some by each device.
    private func facts(_ purchases: [(device: String?, [Purchase])]) async throws -> [PatternFacts] {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: now, session)
            var cases: [AssessedCase] = []
            for (number, (device, made)) in purchases.enumerated() {
                let receipt: Int64 = try await ledger.value(
                    """
                    iap.submit_receipt(
                        \(LedgerBench.bundleID), 'ann', \("receipt \(number)"), NULL, NULL, \(device)::jsonb)
                    """)
                let sightings = try made.enumerated().map { place, purchase in
                    try LedgerBench.sighting(
                        "\(number)000\(place)", receipt: receipt, product: purchase.product, at: now
                    ) { $0.purchasedAt = now - purchase.hoursAgo * 3600 }
                }
                _ = try await ledger.record(sightings, receipts: [receipt], run: run, at: now, session)
                for (place, purchase) in made.enumerated() {
                    let id = try #require(TransactionID("\(number)000\(place)"))
                    if purchase.isDelivered {
                        try await deliver(id, hoursAgo: purchase.hoursAgo, ledger)
                    } else {
                        cases.append(try lost(id, by: purchase.user))
                    }
                }
            }
            _ = try await session.store(cases, runID: run, now: now)
            return try await session.patternFacts(now: now)
        }
    }

    /// A claim five minutes after the purchase.
    private func deliver(_ id: TransactionID, hoursAgo: Double, _ ledger: LedgerBench) async throws {
        let connection = try await ledger.database.connect()
        defer { connection.close() }
        let rows = try await connection.query(
            """
            SELECT
                set_config('iap.present', \(now - hoursAgo * 3600 + 300)::text, true),
                iap.claim(\(LedgerBench.bundleID), \(id.text), 'ann') AS outcome
            """)
        #expect(try rows.first?.decode("outcome", as: String.self) == "delivered")
    }

    private func lost(_ id: TransactionID, by user: String) throws -> AssessedCase {
        AssessedCase(
            key: TransactionKey(
                id: id, bundleID: try #require(BundleID(LedgerBench.bundleID)), environment: .production),
            assessment: Assessment(likelihood: .high, reasons: [.neverClaimed], owner: .user(user), action: .deliver))
    }

    private func delivered(_ hoursAgo: [Double], product: String = "gems") -> [Purchase] {
        hoursAgo.map { Purchase(hoursAgo: $0, product: product) }
    }

    private func lost(_ hoursAgo: [Double], product: String = "gems") -> [Purchase] {
        hoursAgo.enumerated().map {
            Purchase(hoursAgo: $1, product: product, user: "u\($0)", isDelivered: false)
        }
    }

    @Test func purchasesAreCountedByWhatTheyHaveInCommon() async throws {
        let found = try await facts([
            (old, lost(Array(repeating: 50.5, count: 11), product: "vip") + delivered([50.2, 60])),
            (new, delivered([20, 30, 40, 50.3]) + lost([35])),
            (nil, delivered([21])),
        ])
        let facts = try #require(found.first)
        #expect(facts.silence == nil)
        // One customer lost by both devices.
        #expect(facts.all == PurchaseCounts(cases: 12, customers: 11, delivered: 7))
        let product = try #require(ProductID("vip"))
        let vip = try #require(facts.products[product])
        #expect(vip.counts == PurchaseCounts(cases: 11, customers: 11, delivered: 0))
        #expect(vip.others == PurchaseCounts(cases: 1, delivered: 7))
        let version = try #require(facts.traits[.appVersion]?["2.3"])
        #expect(version.counts == PurchaseCounts(cases: 11, customers: 11, delivered: 2))
        // Of one purchase nobody knows the device.
        #expect(version.others == PurchaseCounts(cases: 1, delivered: 4))
        #expect(facts.traits[.system]?["iOS 18.1"]?.counts == PurchaseCounts(cases: 1, customers: 1, delivered: 4))
        #expect(facts.traits.keys.count == 3)
        #expect(facts.hours[now - 51 * 3600] == PurchaseCounts(cases: 11, customers: 11, delivered: 2))
        #expect(facts.hours[now - 20 * 3600] == PurchaseCounts(delivered: 1))
        let customers = facts.hourlyCustomers
        #expect(customers[now - 51 * 3600]?.count == 11 && customers[now - 20 * 3600]?.count == 0)
        // That customer lost something in either hour.
        #expect(customers[now - 35 * 3600]?.isSubset(of: customers[now - 51 * 3600] ?? []) == true)
    }

    @Test func whatFollowsTheLastDeliveryIsCountedByItself() async throws {
        let found = try await facts([
            (new, lost([30] + (1...12).map { 20 - Double($0) }) + delivered([200, 100, 21])),
            (nil, [Purchase(hoursAgo: 19.5, user: "u1", isDelivered: false)]),
        ])
        let facts = try #require(found.first)
        #expect(facts.silence?.since == now - 21 * 3600 + 0.001)
        #expect(facts.silence?.counts == PurchaseCounts(cases: 13, customers: 12))
        // What was bought a week before the oldest case is no longer compared.
        #expect(facts.all == PurchaseCounts(cases: 1, customers: 1, delivered: 2))
        #expect(facts.hours[now - 19 * 3600] == nil)
    }

    @Test func fewCasesAreNotCounted() async throws {
        let few = try await facts([(new, lost((1...9).map(Double.init)) + delivered([21]))])
        #expect(few.isEmpty)
        // Older than a month.
        let old = try await facts([(new, lost((1...12).map { 24 * 31 + Double($0) }) + delivered([21]))])
        #expect(old.isEmpty)
    }

    /// Of what one step gives the next the planner expects a row or two: that must not have it compare each purchase with
    /// each receipt, of which there may be a hundred thousand.
    @Test func eachPurchaseIsNotComparedWithEachReceipt() async throws {
        try await withLedger { ledger in
            let connection = try await ledger.database.connect()
            defer { connection.close() }
            try await connection.execute("SET search_path = iap, public")
            let row = try #require(
                try await connection.query(
                    """
                    SELECT
                        \(LedgerBench.bundleID)::text AS bundle_id, 20::bigint AS cases,
                        \(now)::timestamptz AS oldest, \(now)::timestamptz AS newest,
                        \(now)::timestamptz AS nth_newest
                    """
                ).first)
            let comparison = PatternComparison(
                crowds: [try Crowd(row)], silences: [:], from: now - 86_400, transactions: "iap.transactions")
            let plan = try await connection.query("EXPLAIN \(comparison.query)").map {
                try $0.decode("QUERY PLAN", as: String.self)
            }
            #expect(plan.filter { $0.contains("Full Join") }.count == 2)
        }
    }
}
