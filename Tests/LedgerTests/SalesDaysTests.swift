import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// The days whose sales report the night fetches.
@Suite struct SalesDaysTests {
    private let vendor = "85012345"

    /// In Egypt the 24th of April 2026 has no midnight.
    @Test(arguments: ["UTC", "Africa/Cairo"])
    func aServersClocksThatArePutForwardAtMidnightLeaveOutNoDay(timeZone: String) async throws {
        try await withLedger { bench in
            try await bench.execute(
                "ALTER DATABASE \(identifier: bench.database.name) SET timezone = '\(unsafe: timeZone)'")
            let now = try Date("2026-04-28T20:00:00Z", strategy: .iso8601)
            let session = try await bench.session()
            defer { session.close() }
            let missing = try await session.missingSalesDays(of: vendor, apps: [:], now: now)
            #expect(missing.count == 30)
            #expect(missing.first?.description == "2026-03-29" && missing.last?.description == "2026-04-27")
            for day in missing {
                try await session.note(.fetched(lines: 1, refused: 0), of: vendor, on: day, at: now)
            }
            #expect(try await session.missingSalesDays(of: vendor, apps: [:], now: now).isEmpty)
        }
    }
}
