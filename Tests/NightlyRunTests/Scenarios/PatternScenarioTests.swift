import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import Testing

/// One cause of many lost orders is told once, with all its cases.
@Suite struct PatternScenarioTests {
    /// Purchases of one customer each, of which the app's server claims some.
    private func buy(
        _ play: Play, _ hoursAgo: [Double], of product: String = "gems.60", version: String = "2.2",
        numbered first: Int, claimed: (Int) -> Bool
    ) async throws -> [String] {
        var lost: [String] = []
        for (place, hours) in hoursAgo.enumerated() {
            let user = "customer-\(first + place)"
            let bought = play.buy("10000000000\(first + place)", product, account: user, hoursAgo: hours)
            let payload = play.receipt([bought], account: user, madeHoursAgo: hours - 0.1)
            let device = #"{"model": "iPhone15,2", "app_version": "\#(version)"}"#
            try await play.upload(payload, by: user, for: bought, device: device)
            if claimed(place) {
                try await play.admit(bought, for: user)
                try await play.claim(bought, for: user)
            } else {
                lost.append(bought.id)
            }
        }
        return lost
    }

    @Test func anOutageIsOnePatternWithAllItsCases() async throws {
        try await withPlay { play in
            let single = try await buy(play, (0..<20).map { 60 - Double($0) }, numbered: 1000) { $0 != 7 }
            let lost = try await buy(play, (0..<14).map { 30 - Double($0) }, numbered: 2000) { _ in false }
            let (report, findings) = try await play.night()
            #expect(findings.caseIDs == Set(single + lost))
            let pattern = try #require(report.patterns.first)
            #expect(report.patterns.count == 1)
            #expect(pattern.cause == .outage)
            #expect(pattern.counts == PurchaseCounts(cases: 14, customers: 14))
            #expect(pattern.until == nil)
            #expect(abs(pattern.from.timeIntervalSince(play.began - 41 * 3600)) < 1)
            #expect(Set(findings.cases.filter { $0.patterns == [0] }.map(\.key.id.text)) == Set(lost))
            #expect(findings.head?.patterns == report.patterns)

            // The server is back and claims what is bought again: nothing goes on, and the hours are told as lost.
            _ = try await buy(play, (0..<3).map { 5 - Double($0) }, numbered: 3000) { _ in true }
            let next = try await play.night(2)
            #expect(next.report.patterns.map(\.cause) == [.hours])
            #expect(next.report.patterns.first?.counts.cases == 14)
            #expect(next.findings.cases.filter { $0.patterns == [0] }.count == 14)
        }
    }

    @Test func aCaseMayBelongToSeveral() async throws {
        try await withPlay { play in
            // A new version sells a product that the server does not know, among all that it does.
            _ = try await buy(play, (0..<60).map { 70 - Double($0) }, numbered: 1000) { _ in true }
            _ = try await buy(play, (0..<6).map { 40 - Double($0) }, version: "2.3", numbered: 2000) { _ in true }
            let lost = try await buy(
                play, (0..<12).map { 60 - Double($0) * 4 }, of: "gems.300", version: "2.3", numbered: 3000
            ) { _ in false }
            let (report, findings) = try await play.night()
            let product = try #require(ProductID("gems.300"))
            #expect(Set(report.patterns.map(\.cause)) == [.product(product), .device(.appVersion, "2.3")])
            #expect(report.patterns.map(\.counts.cases) == [12, 12])
            #expect(Set(report.patterns.map(\.counts.delivered)) == [0, 6])
            #expect(findings.caseIDs == Set(lost))
            #expect(findings.cases.allSatisfy { $0.patterns == [0, 1] })
        }
    }

    @Test func aQuietNightHasNone() async throws {
        try await withPlay { play in
            let lost = try await buy(play, (0..<60).map { 70 - Double($0) }, numbered: 1000) { $0 % 5 != 2 }
            let (report, findings) = try await play.night()
            #expect(findings.caseIDs == Set(lost))
            #expect(lost.count == 12)
            #expect(report.patterns.isEmpty)
            #expect(findings.cases.allSatisfy { $0.patterns.isEmpty })
        }
    }
}
