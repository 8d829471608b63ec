public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// What the latest purchases of each app with many cases have in common. Costs nothing if there are few cases.
    /// Otherwise the time grows with the number of open cases, and of deliveries in their time, up to a limit.
    public func patternFacts(now: Date) async throws(LedgerError) -> [PatternFacts] {
        try await translating {
            let crowds = try await crowdsOfCases(since: now - Crowd.age)
            guard !crowds.isEmpty else { return [] }
            let silences = try await silences(of: crowds)
            let from = try await beginning(of: crowds)
            return try await compare(crowds, silences, from: from)
        }
    }

    private func crowdsOfCases(since: Date) async throws -> [Crowd] {
        let rows = try await connection.query(
            """
            SELECT
                bundle_id, count(*) AS cases, min(purchased_at) AS oldest, max(purchased_at) AS newest,
                (array_agg(purchased_at ORDER BY purchased_at DESC))[\(Int32(PurchaseCounts.leastCases))] AS nth_newest
            FROM cases
            JOIN white USING (transaction_id, bundle_id, environment)
            WHERE cases.state = 'open' AND white.purchased_at >= \(since)
            GROUP BY bundle_id
            HAVING count(*) >= \(PurchaseCounts.leastCases)
            ORDER BY bundle_id
            """)
        return try rows.map(Crowd.init)
    }

    /// For each app, the time since which nothing that was bought was delivered, if as many cases as a pattern needs
    /// were bought since.
    ///
    /// The sorts make the planner go by the index of deliveries, from its end: one of the first is of the app, unless
    /// it is silent.
    private func silences(of crowds: [Crowd]) async throws -> [BundleID: Date] {
        let rows = try await connection.query(
            """
            SELECT crowd.bundle_id, coalesce(last.purchased_at + interval '1 millisecond', crowd.begins) AS since
            FROM unnest(
                \(crowds.map(\.bundleID.text)), \(crowds.map(\.nthNewest)), \(crowds.map(\.begins))
            ) AS crowd (bundle_id, nth_newest, begins)
            LEFT JOIN LATERAL (
                SELECT true AS is_alive
                FROM \(whole(.transactions)) AS transactions
                WHERE place = 'black' AND bundle_id = crowd.bundle_id AND delivered_by <> 'resolved'
                    AND delivered_at >= crowd.nth_newest AND purchased_at >= crowd.nth_newest
                ORDER BY delivered_at DESC
                LIMIT 1
            ) AS heard ON true
            CROSS JOIN LATERAL (
                SELECT max(purchased_at) AS purchased_at
                FROM (
                    SELECT purchased_at
                    FROM \(whole(.transactions)) AS transactions
                    WHERE heard.is_alive IS NULL AND place = 'black' AND bundle_id = crowd.bundle_id
                        AND delivered_by <> 'resolved' AND delivered_at >= crowd.begins
                    ORDER BY delivered_at DESC
                    LIMIT \(Crowd.latest)
                ) AS latest
            ) AS last
            WHERE heard.is_alive IS NULL
            """)
        return try Dictionary(
            uniqueKeysWithValues: rows.map { (try $0.id("bundle_id"), try $0.decode("since", as: Date.self)) })
    }

    /// From when on purchases are compared: the latest of a large app tell enough.
    private func beginning(of crowds: [Crowd]) async throws -> Date {
        let begins = crowds.map(\.begins).min() ?? .distantPast
        let row = try await connection.only(
            """
            SELECT min(delivered_at) AS reached, count(*) AS deliveries
            FROM (\(PatternComparison.deliveries(of: crowds, from: begins, in: whole(.transactions)))) AS compared
            """)
        let isCut = try row.decode("deliveries", as: Int.self) >= Crowd.deliveries(for: crowds)
        return isCut ? try row.decode("reached") : begins
    }

    private func compare(
        _ crowds: [Crowd], _ silences: [BundleID: Date], from: Date
    ) async throws -> [PatternFacts] {
        let comparison = PatternComparison(
            crowds: crowds, silences: silences, from: from, transactions: whole(.transactions))
        let rows = try await connection.query(comparison.query)
        var facts = Dictionary(
            uniqueKeysWithValues: crowds.map { crowd in
                let silence = silences[crowd.bundleID].map { PatternFacts.Silence(since: $0) }
                return (crowd.bundleID, PatternFacts(bundleID: crowd.bundleID, from: from, silence: silence))
            })
        for row in rows { try facts[try row.id("bundle_id")]?.add(row) }
        return crowds.compactMap { facts[$0.bundleID] }
    }
}

/// An app with many open cases, and their time.
struct Crowd {
    /// Seconds: what is older has no cause that is still to be found.
    static let age: TimeInterval = 30 * 86_400
    /// How long before the oldest of them deliveries are looked at, too: an outage is known by what was before.
    static let margin: TimeInterval = 7 * 86_400
    /// How long after the newest was bought deliveries are still looked at.
    static let late: TimeInterval = 86_400
    /// How many deliveries are compared with each case, between a least and a most that takes a few seconds.
    private static let deliveriesOfCase = 100
    private static let deliveries = 20_000...50_000
    /// How many of the latest deliveries hold the one of the latest purchase: not all are made at once.
    static let latest = 1000

    static func deliveries(for crowds: [Crowd]) -> Int {
        let wanted = crowds.reduce(0) { $0 + $1.cases } * deliveriesOfCase
        return min(max(wanted, deliveries.lowerBound), deliveries.upperBound)
    }

    let bundleID: BundleID
    let cases: Int
    let begins, newest, nthNewest: Date

    init(_ row: Row) throws {
        bundleID = try row.id("bundle_id")
        cases = try row.decode("cases")
        begins = try row.decode("oldest", as: Date.self) - Self.margin
        newest = try row.decode("newest")
        nthNewest = try row.decode("nth_newest")
    }
}
