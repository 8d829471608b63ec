public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// What the latest purchases of each app with many cases have in common. Costs nothing where there are few;
    /// otherwise it takes time with the number of open cases, and of deliveries in their time, up to a limit.
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

    /// From when on each app delivered nothing that was bought, where as many cases as a pattern needs were bought since.
    ///
    /// The sorts make the planner go by the index of deliveries, from its end: one of the first is of the app, unless it
    /// is silent.
    private func silences(of crowds: [Crowd]) async throws -> [BundleID: Date] {
        let rows = try await connection.query(
            """
            SELECT crowd.bundle_id, coalesce(last.purchased_at + interval '1 millisecond', crowd.begins) AS since
            FROM unnest(
                \(crowds.map(\.bundleID.text)), \(crowds.map(\.nthNewest)), \(crowds.map(\.begins))
            ) AS crowd (bundle_id, nth_newest, begins)
            LEFT JOIN LATERAL (
                SELECT true AS is_alive
                FROM \(stored: .transactions)
                WHERE place = 'black' AND bundle_id = crowd.bundle_id AND delivered_by <> 'resolved'
                    AND delivered_at >= crowd.nth_newest AND purchased_at >= crowd.nth_newest
                ORDER BY delivered_at DESC
                LIMIT 1
            ) AS heard ON true
            CROSS JOIN LATERAL (
                SELECT max(purchased_at) AS purchased_at
                FROM (
                    SELECT purchased_at
                    FROM \(stored: .transactions)
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
            FROM (\(Self.deliveries(of: crowds, from: begins))) AS compared
            """)
        let isCut = try row.decode("deliveries", as: Int.self) >= Crowd.deliveries(for: crowds)
        return isCut ? try row.decode("reached") : begins
    }

    /// The latest deliveries in the time of the cases.
    private static func deliveries(of crowds: [Crowd], from: Date) -> SQL {
        let ends = (crowds.map(\.newest).max() ?? .distantPast) + Crowd.late
        return """
            SELECT transaction_id, bundle_id, environment, product_id, purchased_at, delivered_at
            FROM \(stored: .transactions)
            WHERE place = 'black' AND delivered_at >= \(from) AND delivered_at < \(ends) AND purchased_at >= \(from)
                AND bundle_id = ANY (\(crowds.map(\.bundleID.text)))
            ORDER BY delivered_at DESC
            LIMIT \(Crowd.deliveries(for: crowds))
            """
    }

    private func compare(
        _ crowds: [Crowd], _ silences: [BundleID: Date], from: Date
    ) async throws -> [PatternFacts] {
        let rows = try await connection.query(
            """
            WITH crowds AS (
                SELECT * FROM unnest(\(crowds.map(\.bundleID.text)), \(crowds.map { silences[$0.bundleID] }))
                    AS crowd (bundle_id, silent_since)
            ), lost AS (
                SELECT
                    transaction_id, white.bundle_id, environment, white.product_id, white.purchased_at,
                    white.purchased_at >= crowds.silent_since IS TRUE AS is_silence,
                    CASE cardinality(cases.owner_user_ids)
                        WHEN 1 THEN cases.owner_user_ids[1] ELSE cases.transaction_id
                    END COLLATE "C" AS customer
                FROM cases
                JOIN white USING (transaction_id, bundle_id, environment)
                JOIN crowds ON crowds.bundle_id = white.bundle_id
                WHERE cases.state = 'open'
                    AND (white.purchased_at >= \(from) OR white.purchased_at >= crowds.silent_since)
            ), delivered AS (
                SELECT transaction_id, bundle_id, environment, product_id, purchased_at, false AS is_silence
                FROM (\(Self.deliveries(of: crowds, from: from))) AS bought
            ), seen AS MATERIALIZED (
                SELECT transaction_id, bundle_id, environment, bucket, receipt_id, uploaded_at
                FROM lost
                JOIN sightings USING (transaction_id, bundle_id, environment)
                UNION ALL
                SELECT transaction_id, bundle_id, environment, bucket, receipt_id, uploaded_at
                FROM delivered
                JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
            ), devices AS MATERIALIZED (
                SELECT receipts.bucket, receipts.receipt_id, receipts.device
                FROM (SELECT DISTINCT bucket, receipt_id FROM seen) AS held
                JOIN \(stored: .receipts) USING (bucket, receipt_id)
                WHERE receipts.device IS NOT NULL
            ), told AS (
                -- What the client said last of its device.
                SELECT DISTINCT ON (transaction_id, bundle_id, environment)
                    transaction_id, bundle_id, environment, device
                FROM seen
                JOIN devices USING (bucket, receipt_id)
                ORDER BY transaction_id, bundle_id, environment, uploaded_at DESC, receipt_id DESC
            ), counted AS (
                SELECT
                    bundle_id, dimension, value, count(*) AS cases, count(DISTINCT customer) AS customers, 0 AS delivered
                FROM (SELECT * FROM lost LEFT JOIN told USING (transaction_id, bundle_id, environment)) AS lost
                \(Self.dimensions(of: "lost"))
                GROUP BY bundle_id, dimension, value
                UNION ALL
                SELECT bundle_id, dimension, value, 0, 0, count(*)
                FROM (SELECT * FROM delivered LEFT JOIN told USING (transaction_id, bundle_id, environment)) AS delivered
                \(Self.dimensions(of: "delivered"))
                GROUP BY bundle_id, dimension, value
            ), summed AS (
                SELECT
                    bundle_id, dimension, value, sum(cases)::bigint AS cases, sum(customers)::bigint AS customers,
                    sum(delivered)::bigint AS delivered,
                    (sum(sum(cases)) OVER known)::bigint AS known_cases,
                    (sum(sum(delivered)) OVER known)::bigint AS known_delivered
                FROM counted
                GROUP BY bundle_id, dimension, value
                WINDOW known AS (PARTITION BY bundle_id, dimension)
            )
            SELECT * FROM summed
            WHERE cases > 0 OR dimension IN ('all', 'hour')
            ORDER BY bundle_id
            """)
        var facts = Dictionary(
            uniqueKeysWithValues: crowds.map { crowd in
                let silence = silences[crowd.bundleID].map { PatternFacts.Silence(since: $0) }
                return (crowd.bundleID, PatternFacts(bundleID: crowd.bundleID, from: from, silence: silence))
            })
        for row in rows { try facts[try row.id("bundle_id")]?.add(row) }
        return crowds.compactMap { facts[$0.bundleID] }
    }

    /// By what purchases are compared: each row once for all that is known of it.
    private static func dimensions(of purchases: SQL) -> SQL {
        let traits = DeviceTrait.allCases.reduce("" as SQL) { sql, trait in
            let field: SQL = "\(purchases).device -> \(trait.rawValue)"
            return sql + """
                , (\(trait.rawValue), CASE
                    WHEN jsonb_typeof(\(field)) = 'string'
                        AND length(\(field) #>> '{}') <= \(Int32(DeviceTrait.longestValue))
                    THEN \(field) #>> '{}'
                END)
                """
        }
        return """
            CROSS JOIN LATERAL (
                VALUES
                    ('all', ''), ('product', \(purchases).product_id),
                    ('hour', floor(extract(epoch FROM \(purchases).purchased_at) / 3600)::bigint::text)\(traits)
            ) AS known (named, named_value)
            CROSS JOIN LATERAL (
                SELECT
                    CASE WHEN \(purchases).is_silence THEN 'silence' ELSE known.named END AS dimension,
                    (CASE WHEN \(purchases).is_silence THEN '' ELSE known.named_value END) COLLATE "C" AS value
            ) AS of_each
            WHERE value IS NOT NULL AND (NOT \(purchases).is_silence OR named = 'all')
            """
    }
}

/// An app with many open cases, and their time.
private struct Crowd {
    /// What is older has no cause that is still to be found.
    static let age: TimeInterval = 30 * 86_400
    /// So long before the oldest of them deliveries are looked at too: an outage is known by what was before.
    static let margin: TimeInterval = 7 * 86_400
    /// What is delivered so long after the newest was bought is not looked at.
    static let late: TimeInterval = 86_400
    /// So many deliveries are compared with each case, between a least and a most that takes a few seconds.
    private static let deliveriesOfCase = 100
    private static let deliveries = 20_000...50_000
    /// Among so many of the latest deliveries is the one of the latest purchase: not all are made at once.
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

extension PatternFacts {
    fileprivate mutating func add(_ row: Row) throws {
        let counts = PurchaseCounts(
            cases: try row.decode("cases"), customers: try row.decode("customers"),
            delivered: try row.decode("delivered"))
        let others = PurchaseCounts(
            cases: try row.decode("known_cases", as: Int.self) - counts.cases,
            delivered: try row.decode("known_delivered", as: Int.self) - counts.delivered)
        let value = try row.decode("value", as: String.self)
        switch try row.decode("dimension", as: String.self) {
        case "all": all = counts
        case "silence": silence?.counts = counts
        case "product": products[try row.id("value")] = Share(counts, others: others)
        case "hour":
            guard let hour = Int(value) else { throw row.unknown("“\(value)”", in: "value") }
            hours[Date(timeIntervalSince1970: Double(hour) * 3600)] = counts
        default:
            traits[try row.word("dimension"), default: [:]][value] = Share(counts, others: others)
        }
    }
}
