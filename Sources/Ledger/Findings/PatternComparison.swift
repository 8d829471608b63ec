import Foundation
import PostgreSQL
import Reconciliation

/// The query that counts what was lost and what was delivered, by what purchases have in common; step by step.
struct PatternComparison {
    let crowds: [Crowd]
    let silences: [BundleID: Date]
    let from: Date
    /// All transactions, in a dry run as it leaves them.
    let transactions: SQL

    var query: SQL {
        """
        WITH crowds AS (
            \(apps)
        ), lost AS (
            \(lost)
        ), delivered AS (
            \(delivered)
        ), seen AS MATERIALIZED (
            \(Self.seen)
        ), devices AS MATERIALIZED (
            \(Self.devices)
        ), held AS MATERIALIZED (
            \(Self.held)
        ), told AS (
            \(Self.told)
        ), described AS MATERIALIZED (
            \(Self.described)
        ), counted AS (
            \(Self.counted)
        ), summed AS (
            \(Self.summed)
        )
        SELECT * FROM summed
        WHERE cases > 0 OR dimension IN ('all', 'hour')
        ORDER BY bundle_id
        """
    }

    private var apps: SQL {
        """
        SELECT * FROM unnest(\(crowds.map(\.bundleID.text)), \(crowds.map { silences[$0.bundleID] }))
            AS crowd (bundle_id, silent_since)
        """
    }

    private var lost: SQL {
        """
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
        """
    }

    private var delivered: SQL {
        """
        SELECT transaction_id, bundle_id, environment, product_id, purchased_at, false AS is_silence
        FROM (\(Self.deliveries(of: crowds, from: from, in: transactions))) AS bought
        """
    }

    private static let seen: SQL = """
        SELECT transaction_id, bundle_id, environment, bucket, receipt_id, uploaded_at
        FROM lost
        JOIN sightings USING (transaction_id, bundle_id, environment)
        UNION ALL
        SELECT transaction_id, bundle_id, environment, bucket, receipt_id, uploaded_at
        FROM delivered
        JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
        """

    private static let devices: SQL = """
        SELECT receipts.bucket, receipts.receipt_id, receipts.device
        FROM (SELECT DISTINCT bucket, receipt_id FROM seen) AS held
        JOIN \(stored: .receipts) USING (bucket, receipt_id)
        WHERE receipts.device IS NOT NULL
        """

    /// The devices of which each purchase's receipts tell. Each device is of a receipt that was seen, so that an inner
    /// join would say the same; but of what other steps give the planner often expects one row, and then compares each
    /// with each, for minutes. A full join is never done so, and a step of its own keeps it one.
    private static let held: SQL = """
        SELECT transaction_id, bundle_id, environment, uploaded_at, receipt_id, device
        FROM seen
        FULL JOIN devices USING (bucket, receipt_id)
        """

    /// What the client said last of its device.
    private static let told: SQL = """
        SELECT DISTINCT ON (transaction_id, bundle_id, environment)
            transaction_id, bundle_id, environment, device
        FROM held
        WHERE device IS NOT NULL
        ORDER BY transaction_id, bundle_id, environment, uploaded_at DESC, receipt_id DESC
        """

    /// Each purchase with its device, by a full join for the same reason: whatever is told is told of one of them.
    private static let described: SQL = """
        SELECT *
        FROM (
            SELECT
                transaction_id, bundle_id, environment, product_id, purchased_at, is_silence, customer, true AS is_lost
            FROM lost
            UNION ALL
            SELECT transaction_id, bundle_id, environment, product_id, purchased_at, is_silence, NULL, false
            FROM delivered
        ) AS purchases
        FULL JOIN told USING (transaction_id, bundle_id, environment)
        """

    private static let counted: SQL = """
        SELECT
            bundle_id, dimension, value, count(*) AS cases, count(DISTINCT customer) AS customers, 0 AS delivered,
            array_agg(DISTINCT hashtextextended(customer, 0)) FILTER (WHERE dimension = 'hour') AS customer_hashes
        FROM (SELECT * FROM described WHERE is_lost) AS lost
        \(Self.dimensions(of: "lost"))
        GROUP BY bundle_id, dimension, value
        UNION ALL
        SELECT bundle_id, dimension, value, 0, 0, count(*), NULL
        FROM (SELECT * FROM described WHERE NOT is_lost) AS delivered
        \(Self.dimensions(of: "delivered"))
        GROUP BY bundle_id, dimension, value
        """

    private static let summed: SQL = """
        SELECT
            bundle_id, dimension, value, sum(cases)::bigint AS cases, sum(customers)::bigint AS customers,
            sum(delivered)::bigint AS delivered, max(customer_hashes) AS customer_hashes,
            (sum(sum(cases)) OVER known)::bigint AS known_cases,
            (sum(sum(delivered)) OVER known)::bigint AS known_delivered
        FROM counted
        GROUP BY bundle_id, dimension, value
        WINDOW known AS (PARTITION BY bundle_id, dimension)
        """

    /// The latest deliveries in the time of the cases.
    static func deliveries(of crowds: [Crowd], from: Date, in transactions: SQL) -> SQL {
        let ends = (crowds.map(\.newest).max() ?? .distantPast) + Crowd.late
        return """
            SELECT transaction_id, bundle_id, environment, product_id, purchased_at, delivered_at
            FROM \(transactions) AS transactions
            WHERE place = 'black' AND delivered_at >= \(from) AND delivered_at < \(ends) AND purchased_at >= \(from)
                AND bundle_id = ANY (\(crowds.map(\.bundleID.text)))
            ORDER BY delivered_at DESC
            LIMIT \(Crowd.deliveries(for: crowds))
            """
    }

    /// What purchases are compared by: each row comes once for everything that is known of it.
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

extension PatternFacts {
    mutating func add(_ row: Row) throws {
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
            let begins = Date(timeIntervalSince1970: Double(hour) * 3600)
            hours[begins] = counts
            hourlyCustomers[begins] = Set(try row.decode("customer_hashes", as: [Int64]?.self) ?? [])
        default:
            traits[try row.word("dimension"), default: [:]][value] = Share(counts, others: others)
        }
    }
}
