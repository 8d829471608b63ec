import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// What the thresholds of an app are held against.
@Suite struct WatchedFiguresTests {
    /// Units that Apple sold and the tables saw, on days up to yesterday: `[sold, seen]`, the latest last.
    @Test(
        arguments: [
            // Nothing is missing, or everything.
            ([[2, 2], [1, 1]], 0), ([[2, 0], [3, 0]], 5),
            // Midnight lies elsewhere for Apple.
            ([[1, 0], [0, 1]], 0), ([[0, 2], [3, 1], [2, 1]], 1), ([[3, 0], [0, 1]], 2),
            // Once, whichever of its neighbours it makes up for.
            ([[1, 0], [0, 1], [1, 0]], 1),
            // What is seen too much on another day makes up for nothing.
            ([[0, 5], [1, 1], [1, 1], [3, 0]], 3), ([[2, 0], [1, 1], [1, 1], [0, 9]], 2),
        ] as [([[Int64]], Int)])
    func aDaysSurplusMakesUpForNoOtherDay(days: [[Int64]], missing: Int) async throws {
        try await withLedger { ledger in
            let now = Date(timeIntervalSince1970: 1_780_000_000)
            for (index, units) in days.enumerated() {
                let moment = now - Double(days.count - index) * 86_400
                try await ledger.execute(
                    """
                    WITH report AS (
                        INSERT INTO iap.sales_reports (day, developer, bundle_ids, file, lines, refused)
                        VALUES (
                            finance.pacific_day(\(moment)), 'd', ARRAY[\(LedgerBench.bundleID)],
                            'S_D.txt', 1, 0)
                        RETURNING report_id
                    )
                    INSERT INTO iap.sales (
                        report_id, app_sku, bundle_id, product_id, type, storefront, price_milliunits, currency, units)
                    SELECT report_id, 'SKU', \(LedgerBench.bundleID), 'gems', 'IA1', 'USA', 990, 'USD', \(units[0])
                    FROM report
                    WHERE \(units[0]) > 0
                    """)
                for number in 0..<units[1] {
                    let id = "\(index)-\(number)"
                    let _: String = try await ledger.value(
                        "iap.admit(\(LedgerBench.bundleID), 'Production', \(id), \(id), 'gems', 1, \(moment))")
                }
            }
            let session = try await ledger.session()
            defer { session.close() }
            var app = try LedgerBench.app()
            app.thresholds.unitsMissing = 1
            let figures = try await session.watchedFigures(of: [app], hearings: [], now: now)
            #expect(figures.map(\.value) == [.unitsMissing(missing, threshold: 1)])
        }
    }
}
