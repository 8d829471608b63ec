import Foundation
import Reconciliation
import Reporting

/// A report of many cases in all its forms: page, spreadsheet, CSV, JSON and text.
enum ReportStage {
    private static let cases = 10_000
    private static let now = Date(timeIntervalSince1970: 1_780_000_000)

    static func measure(_ bench: Bench) async throws -> [Measurement] {
        let found = try (0..<cases).map(lostOrder)
        var seconds = Double.infinity
        for _ in 0..<5 {
            seconds = min(seconds, try await Timing.wall { try write(found, to: "\(bench.scratch)/report") })
        }
        return [
            Measurement(
                benchmark: "report", what: "report of 10,000 cases, all forms", value: seconds, unit: "s", limit: 1,
                against: "a second", aim: .atMost(1))
        ]
    }

    /// Measures the page of 50,000 cases in Chromium: the time until something shows, and from a key in the search to
    /// the result.
    static func page(_ bench: Bench) async throws -> [Measurement] {
        let folder = "\(bench.scratch)/page"
        try write(try (0..<50_000).map(lostOrder), to: folder)
        let output = "\(bench.scratch)/page.json"
        _ = try await Program.run("/usr/bin/python3", ["Tests/Browser/speed.py", "\(folder)/latest"], output: output)
        let speed = try JSONDecoder().decode(PageSpeed.self, from: try Data(contentsOf: URL(filePath: output)))
        func measurement(_ what: String, _ value: Double, limit: Double, _ against: String) -> Measurement {
            Measurement(
                benchmark: "page", what: what, value: value, unit: "ms", limit: limit, against: against,
                aim: .atMost(1))
        }
        return [
            measurement("first paint of 50,000 cases", speed.paint, limit: 2000, "two seconds"),
            measurement("a key in the search over them", speed.keystroke, limit: 100, "100 ms"),
            measurement("the slowest key", speed.slowest, limit: 100, "100 ms"),
        ]
    }

    /// The output of `speed.py`, in milliseconds.
    private struct PageSpeed: Decodable {
        let paint: Double
        let keystroke: Double
        let slowest: Double
    }

    private static func write(_ found: [ReportedCase], to folder: String) throws {
        let writer = try ReportWriter(directory: folder, programVersion: "bench")
        try writer.begin(head)
        for lostOrder in found { try writer.add(lostOrder) }
        try writer.finish()
    }

    private static var head: RunReport {
        var head = RunReport(
            runID: 1, startedAt: now, finishedAt: now, now: now, timeZone: .gmt, outcome: .complete,
            receipts: ReceiptCounts(due: cases, verified: cases), totals: ControlTotals())
        head.cases = CaseCounts(byLikelihood: [.high: cases], new: cases)
        return head
    }

    private static func lostOrder(_ number: Int) throws -> ReportedCase {
        guard let id = TransactionID(String(470_001_000_000_000 + number * 7_919)),
            let bundleID = BundleID(Bench.bundleID), let productID = ProductID("gems.\(100 * (1 + number % 6))"),
            let currency = CurrencyCode(["USD", "CNY", "JPY"][number % 3])
        else { throw BenchmarkError("an id is none") }
        let user = "player-\(20_000 + number * 31 % 9_973)"
        let purchased = now.addingTimeInterval(Double(-3_700 - number * 61))
        let order = number % 4 == 0 ? "order-\(number)" : nil
        let claims =
            number % 5 == 0
            ? [ClaimAttempt(outcome: .wrongUser, userID: "other", orderID: nil, attemptedAt: purchased)] : []
        var found = ReportedCase(
            key: TransactionKey(id: id, bundleID: bundleID, environment: .production),
            assessment: Assessment(
                likelihood: .high, reasons: claims.isEmpty ? [.neverClaimed] : [.claimFailed], owner: .user(user),
                orderIDs: order.map { [$0] } ?? [], action: .deliver),
            originalID: id, productID: productID, quantity: 1, purchasedAt: purchased, source: .verifyReceipt,
            openedAt: now, isNew: true)
        (found.productName, found.productType) = ("Gems", .consumable)
        (found.price, found.isListPrice) = (Money(milliunits: 1_990, currency: currency), true)
        found.device = #"{"model":"iPhone15,3","os":"17.2"}"#
        found.sightings = [
            Sighting(
                receiptID: Int64(number + 1), userID: user, orderID: order, isNamed: true,
                uploadedAt: purchased.addingTimeInterval(300))
        ]
        found.claims = claims
        (found.firstVerifiedAt, found.lastVerifiedAt) = (now, now)
        return found
    }
}
