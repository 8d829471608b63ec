import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// The order in which a report takes cases, and what a customer's come to together.
@Suite struct CustomerCasesTests {
    private let now = Date(timeIntervalSince1970: 1_790_000_000)

    /// A lost order of the test's choosing.
    private struct Lost {
        let id: String
        let likelihood: Likelihood
        let owner: Owner
        let age: TimeInterval
        var price: Money?
    }

    private func money(_ milliunits: Int64, _ currency: String) throws -> Money {
        Money(milliunits: milliunits, currency: try #require(CurrencyCode(currency)))
    }

    /// The cases as a report takes them.
    private func reported(_ lost: [Lost]) async throws -> [ReportedCase] {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: now, session)
            let receipt = try await ledger.submit("receipt", for: "1")
            let sightings = try lost.map { lost in
                try LedgerBench.sighting(lost.id, receipt: receipt, at: now) {
                    $0.purchasedAt = now - lost.age
                    $0.price = lost.price
                }
            }
            _ = try await ledger.record(sightings, receipts: [receipt], run: run, at: now, session)
            let bundleID = try #require(BundleID(LedgerBench.bundleID))
            let cases = try lost.map { lost in
                AssessedCase(
                    key: TransactionKey(
                        id: try #require(TransactionID(lost.id)), bundleID: bundleID, environment: .production),
                    assessment: Assessment(
                        likelihood: lost.likelihood, reasons: [.neverClaimed], owner: lost.owner, action: .deliver))
            }
            _ = try await session.store(cases, runID: run, now: now)
            var found: [ReportedCase] = []
            try await session.reading { try await session.forEachCase(runID: run, now: Date()) { found.append($0) } }
            return found
        }
    }

    @Test func aCustomersCasesComeTogetherTheLikeliestFirst() async throws {
        let found = try await reported([
            Lost(id: "11", likelihood: .high, owner: .user("ann"), age: 9_000),
            Lost(id: "12", likelihood: .low, owner: .user("ben"), age: 900_000),
            Lost(id: "13", likelihood: .high, owner: .user("ben"), age: 8_000),
            Lost(id: "14", likelihood: .medium, owner: .user("cid"), age: 990_000),
            Lost(id: "15", likelihood: .high, owner: .user("ben"), age: 20_000),
            Lost(id: "16", likelihood: .low, owner: .user("ann"), age: 7_200),
            Lost(id: "17", likelihood: .high, owner: .user("dan"), age: 500_000),
        ])
        #expect(found.map(\.key.id.text) == ["15", "13", "12", "17", "11", "16", "14"])
        #expect(found.map { $0.customer?.userID } == ["ben", "ben", "ben", nil, "ann", "ann", nil])
    }

    @Test func theySumUpByCurrency() async throws {
        let found = try await reported([
            Lost(id: "21", likelihood: .medium, owner: .user("ben"), age: 9_000, price: try money(1_990, "USD")),
            Lost(id: "22", likelihood: .low, owner: .user("ben"), age: 90_000, price: try money(6_000, "CNY")),
            Lost(id: "23", likelihood: .medium, owner: .user("ben"), age: 8_000, price: try money(3_000, "USD")),
            Lost(id: "24", likelihood: .low, owner: .user("ben"), age: 7_200),
        ])
        let customer = try #require(found.first?.customer)
        #expect(found.allSatisfy { $0.customer == customer })
        #expect(customer.count == 4)
        #expect(customer.likelihood == .medium)
        #expect(customer.oldestPurchase == now - 90_000)
        #expect(customer.money == [try money(6_000, "CNY"), try money(4_990, "USD")])
        #expect(customer.unpriced == 1)
    }

    @Test func whatNobodyOrSeveralMayOwnStandsByItself() async throws {
        let found = try await reported([
            Lost(id: "31", likelihood: .high, owner: .unknown, age: 9_000),
            Lost(id: "32", likelihood: .high, owner: .unknown, age: 8_000),
            Lost(id: "33", likelihood: .high, owner: .ambiguous(["ann", "ben"]), age: 7_900),
            Lost(id: "34", likelihood: .high, owner: .ambiguous(["ann", "ben"]), age: 7_800),
            Lost(id: "35", likelihood: .high, owner: .user("ann"), age: 7_700),
        ])
        #expect(found.map(\.key.id.text) == ["31", "32", "33", "34", "35"])
        #expect(found.allSatisfy { $0.customer == nil })
    }
}
