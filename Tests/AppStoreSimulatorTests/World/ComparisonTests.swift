import SimulatedWorld
import Foundation
import Testing

@Suite struct ComparisonTests {
    private let truth: Truth

    init() throws {
        truth = World(try WorldSettings(seed: 7, customers: 400, days: 5, now: testNow)).truth()
    }

    private func report(_ cases: [(String, String, String)]) throws -> Data {
        let objects = cases.map {
            ["transaction_id": $0.0, "bundle_id": $0.1, "environment": $0.2, "likelihood": "high"]
        }
        return try JSONSerialization.data(withJSONObject: ["run": 1, "cases": objects] as [String: Any])
    }

    @Test func findsThemAll() throws {
        let comparison = try Comparison(
            truth: truth, report: report(truth.lost.map { ($0.transactionID, $0.bundleID, "Production") }))
        #expect(comparison.isEqual)
        #expect(comparison.summary == "truly lost \(truth.lost.count), found \(truth.lost.count), false alarms 0")
    }

    @Test func namesWhatIsMissedAndWhatIsFalse() throws {
        let cases = truth.lost.dropFirst().map { ($0.transactionID, $0.bundleID, "Production") }
        let first = try #require(truth.lost.first)
        let comparison = try Comparison(
            truth: truth,
            report: report(
                cases + [("42", "com.example.game", "Production"), (first.transactionID, first.bundleID, "Sandbox")]))
        let count = truth.lost.count
        #expect(comparison.summary == "truly lost \(count), found \(count - 1), false alarms 2")
        #expect(
            comparison.differences.first
                == "missed: \(first.transactionID) of \(first.bundleID), lost as \(first.scenario)")
        #expect(comparison.differences.contains("false alarm: 42 of com.example.game, Production"))
    }

    @Test func aSubscriptionsCaseTellsOfEachOfItsPeriods() throws {
        let cases = Dictionary(grouping: truth.lost, by: \.bundleID).map { bundleID, lost in
            [
                "transaction_id": lost[0].transactionID, "bundle_id": bundleID, "environment": "Production",
                "subscription": ["transaction_ids": lost.map(\.transactionID)],
            ] as [String: Any]
        }
        #expect(cases.count < truth.lost.count)
        let report = try JSONSerialization.data(withJSONObject: ["cases": cases])
        #expect(try Comparison(truth: truth, report: report).isEqual)
    }

    @Test func expectsWhatCameInNoReceiptOnlyOfWhoHasTheServerAPI() throws {
        let lost = truth.lost.map { ($0.transactionID, $0.bundleID, "Production") }
        let hidden = truth.lostWithoutReceipt.map { ($0.transactionID, $0.bundleID, "Production") }
        #expect(!hidden.isEmpty)
        let without = try Comparison(truth: truth, report: report(lost), usesServerAPI: true)
        #expect(without.summary == "truly lost \(lost.count + hidden.count), found \(lost.count), false alarms 0")
        let with = try Comparison(truth: truth, report: report(lost + hidden), usesServerAPI: true)
        #expect(with.isEqual)
        #expect(try Comparison(truth: truth, report: report(lost + hidden)).isEqual)
    }
}
