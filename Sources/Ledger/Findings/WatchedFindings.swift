public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// The apps' watched figures, beside their thresholds. A figure for which no app has a threshold is not counted.
    ///
    /// - Parameter hearings: how hearing the apps goes.
    public func watchedFigures(
        of apps: [App], hearings: [HearingFigures], now: Date
    ) async throws(LedgerError) -> [WatchedFigure] {
        let watching = Watching(apps: apps, session: self, now: now)
        let figures = try await translating { try await watching.figures() }
        return apps.flatMap { app in
            WatchedFigure.all(
                of: app, figures[app.bundleID] ?? AppFigures(bundleID: app.bundleID),
                hearing: hearings.first { $0.bundleID == app.bundleID }, now: now)
        }
    }
}

/// The queries for what is watched: one for each figure of all apps.
private struct Watching {
    let apps: [App]
    let session: LedgerSession
    let now: Date

    func figures() async throws -> [BundleID: AppFigures] {
        var figures = Dictionary(
            apps.map { ($0.bundleID, AppFigures(bundleID: $0.bundleID)) }, uniquingKeysWith: { first, _ in first })
        if watches({ $0.shareLost != nil || $0.moneyLost != nil || $0.oldestCase != nil }) {
            try await forEach(cases) { try Self.addCases($1, to: &figures[$0]) }
        }
        if watches({ $0.shareLost != nil }) {
            try await forEach(purchases) { figures[$0]?.purchases = try $1.decode("purchases") }
        }
        if watches({ $0.unitsMissing != nil }) {
            try await forEach(units) { figures[$0]?.unitsMissing = try $1.decode("missing") }
        }
        if watches({ $0.redeliveriesFailing != nil }) {
            try await forEach(redeliveries) { figures[$0]?.redeliveriesFailing = try $1.decode("failing") }
        }
        return figures
    }

    private func watches(_ isSet: (Thresholds) -> Bool) -> Bool { apps.contains { isSet($0.thresholds) } }

    private func forEach(_ query: SQL, _ body: (BundleID, Row) throws -> Void) async throws {
        for row in try await session.connection.query(query) { try body(try row.id("bundle_id"), row) }
    }

    private static func addCases(_ row: Row, to figures: inout AppFigures?) throws {
        figures?.lost += try row.decode("lost", as: Int.self)
        let oldest = try row.decode("oldest", as: Date.self)
        if let figures, let earlier = figures.oldestCase, earlier < oldest {} else { figures?.oldestCase = oldest }
        if let money = try row.money("milliunits", "currency") { figures?.money.append(money) }
    }

    /// The time for which the lost share is counted.
    private static let span: SQL = "interval '30 days'"

    private var cases: SQL {
        """
        SELECT
            cases.bundle_id,
            \(OpenCases.currency) AS currency,
            -- A case of a subscription is of several purchases.
            sum((
                SELECT count(*)
                FROM transactions AS lost
                WHERE lost.transaction_id = ANY (cases.periods || cases.transaction_id::text)
                    AND lost.bundle_id = cases.bundle_id AND lost.environment = cases.environment
                    AND lost.place = 'white' AND lost.purchased_at > \(now) - \(Self.span)))::bigint AS lost,
            min(white.purchased_at) AS oldest,
            sum(\(OpenCases.milliunits))::bigint AS milliunits
        \(OpenCases.priced)
        GROUP BY 1, 2
        """
    }

    /// Counted by Apple's day, which has an index.
    private var purchases: SQL {
        """
        SELECT bundle_id, count(*) AS purchases
        FROM unnest(\(apps.map(\.bundleID.text)), \(apps.map(\.environment.rawValue))) AS app (bundle_id, environment)
        JOIN \(session.whole(.transactions)) AS bought USING (bundle_id, environment)
        WHERE bought.place <> 'excluded'
            AND bought.purchased_at > \(now) - \(Self.span) AND bought.purchased_at <= \(now)
            AND finance.pacific_day(bought.purchased_at) >= finance.pacific_day(\(now)) - 31
        GROUP BY bundle_id
        """
    }

    /// What is seen a day before or after Apple's, or told with another country, is not missing. What is seen on other
    /// days and Apple's reports don't tell of, such as what a company's own table says, makes up for nothing.
    private var units: SQL {
        """
        SELECT bundle_id, sum(missing)::bigint AS missing
        FROM (
            -- A day's surplus may make up for the day before and the day after, but only for as much.
            SELECT bundle_id, greatest(sum(difference), sum(greatest(difference - surplus_around, 0))) AS missing
            FROM (
                SELECT
                    bundle_id, product_id, sum(difference) AS difference,
                    sum(greatest(-sum(difference), 0)) OVER (
                        PARTITION BY bundle_id, product_id
                        ORDER BY day
                        RANGE BETWEEN '1 day' PRECEDING AND '1 day' FOLLOWING) AS surplus_around
                FROM sold_against_seen
                WHERE \(SalesDays.upTo(now).condition)
                GROUP BY bundle_id, product_id, day
            ) AS days
            GROUP BY bundle_id, product_id
        ) AS products
        GROUP BY bundle_id
        """
    }

    private var redeliveries: SQL {
        """
        SELECT bundle_id, count(*) AS failing
        FROM redeliveries
        WHERE \(LedgerSession.isFailing)
        GROUP BY bundle_id
        """
    }
}
