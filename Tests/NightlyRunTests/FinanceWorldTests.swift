import SimulatedWorld
import Foundation
import PostgreSQL
import TestSupport
import Testing

/// Finance's figures beside the truth of a world, to the milliunit, night by night; and history that stays.
@Suite struct FinanceWorldTests {
    @Test func figuresEqualTheWorldsTruthAndHistoryStays() async throws {
        try await withNights(try WorldSettings(seed: 7, customers: 300, nights: 5)) { nights in
            let finance = try await nights.database.connect(as: "iap_finance")
            defer { finance.close() }
            var history: [String: WorldFigures] = [:]
            for night in 1...nights.settings.nights {
                try await nights.play(night)
                try await expectTotalsHold(finance)
                let moment = nights.settings.moment(ofNight: night)
                #expect(try await finance.figures(.now) == nights.world.figures(at: moment))
                for (day, figures) in history {
                    #expect(try await finance.figures(.asOf(day)) == figures, "as of \(day), asked in night \(night)")
                }
                try await expectOpen(moment.day, finance)
                guard night > 1 else { continue }
                // Only now: the first night after a day closes it.
                let before = nights.settings.moment(ofNight: night - 1)
                let truth = nights.world.figures(at: before.endOfDay)
                #expect(try await finance.figures(.asOf(before.day)) == truth, "as of \(before.day)")
                #expect(!truth.owed.isEmpty && !truth.deliveries.isEmpty)
                history[before.day] = truth
            }
            #expect(history.values.contains { !$0.refundsBeforeDelivery.isEmpty })
            try await expectHistorySurvives(history, nights)
        }
    }

    /// Other prices, and all that is owed delivered and much of it refunded: what is closed says the same.
    private func expectHistorySurvives(_ history: [String: WorldFigures], _ nights: PlayedNights) async throws {
        let owner = try await nights.database.connect()
        defer { owner.close() }
        try await owner.executeScript(
            unsafe: """
                UPDATE iap.products SET list_price_milliunits = list_price_milliunits * 2;
                SELECT iap.resolve(transaction_id, 'delivered', 'sue', 'by hand') FROM iap.white;
                SET search_path = iap;
                SELECT iap.move(
                    array_agg(ROW(t, iap.refunded(t, jsonb_populate_record(NULL::iap.verified, jsonb_build_object('refunded_at', now())), 1))::iap.change ORDER BY t.transaction_id), NULL, 'sue',
                    1, now())
                FROM iap.transactions AS t
                WHERE place = 'black' AND refunded_at IS NULL AND hashtext(transaction_id) % 2 = 0;
                """)
        let finance = try await nights.database.connect(as: "iap_finance")
        defer { finance.close() }
        try await expectTotalsHold(finance)
        for (day, figures) in history { #expect(try await finance.figures(.asOf(day)) == figures, "as of \(day)") }
    }

    private func expectTotalsHold(_ finance: Connection) async throws {
        for view in ["differences", "unexplained"] {
            #expect(try await finance.query("SELECT * FROM finance.\(identifier: view)").isEmpty, "\(view)")
        }
        let broken = try await finance.query(
            "SELECT day FROM finance.control_totals_by_day WHERE difference <> 0 OR balances IS DISTINCT FROM true")
        #expect(broken.isEmpty)
    }

    private func expectOpen(_ day: String, _ finance: Connection) async throws {
        await #expect(throws: PostgreSQLError.self) {
            try await finance.query("SELECT finance.unclaimed_liability_as_of(\(day)::text::date)")
        }
    }
}

private enum Asked {
    case now
    case asOf(String)
}

extension Connection {
    /// What finance reads, as its role reads it.
    fileprivate func figures(_ asked: Asked) async throws -> WorldFigures {
        var figures = WorldFigures()
        switch asked {
        case .now:
            figures.owed = try await lines("purchase_day", "finance.unclaimed_liability")
            figures.deliveries = try await lines("delivery_day", "finance.deliveries")
            figures.refundsBeforeDelivery = try await lines(
                "refund_day", "(SELECT * FROM finance.refunds WHERE refunded = 'before delivery') AS refunds")
        case .asOf(let day):
            figures.owed = try await lines("purchase_day", "finance.unclaimed_liability_as_of(\(day)::text::date)")
            figures.deliveries = try await lines("delivery_day", "finance.deliveries_as_of(\(day)::text::date)")
            figures.refundsBeforeDelivery = try await lines(
                "refund_day",
                """
                (SELECT * FROM finance.refunds_as_of(\(day)::text::date) WHERE refunded = 'before delivery') AS refunds
                """)
        }
        return figures
    }

    private func lines(_ day: String, _ source: SQL) async throws -> [WorldFigures.Line: WorldFigures.Sum] {
        let rows = try await query(
            """
            SELECT
                \(identifier: day)::text AS day, bundle_id, product_id, currency,
                sum(transactions)::bigint AS transactions, sum(units)::bigint AS units,
                (sum(amount) * 1000)::bigint AS milliunits
            FROM \(source)
            GROUP BY 1, 2, 3, 4
            """)
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (
                    WorldFigures.Line(
                        day: try row("day"), bundleID: try row("bundle_id"), productID: try row("product_id"),
                        currency: try row("currency")),
                    WorldFigures.Sum(
                        transactions: try row("transactions"), units: try row("units"),
                        milliunits: try row("milliunits"))
                )
            })
    }
}

extension Date {
    fileprivate var day: String { formatted(.iso8601.year().month().day()) }

    fileprivate var endOfDay: Date {
        let day: TimeInterval = 86_400
        return Date(timeIntervalSince1970: ((timeIntervalSince1970 / day).rounded(.down) + 1) * day - 0.001)
    }
}
