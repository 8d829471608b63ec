public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// From when, and up to when, Apple's history of notifications was read; `nil` if it never was.
    public func heard(
        _ bundleID: BundleID, in environment: Environment
    ) async throws(LedgerError) -> (from: Date?, through: Date?) {
        try await translating {
            let row = try await connection.only(
                """
                SELECT max(heard_from) AS heard_from, max(heard_through) AS heard_through
                FROM \(stored: .hearings)
                WHERE bundle_id = \(bundleID.text) AND environment = \(environment.rawValue)
                """)
            return (try row.decode("heard_from"), try row.decode("heard_through"))
        }
    }

    /// Notes why Apple's history could not be read to its end.
    public func noteHearing(
        of bundleID: BundleID, in environment: Environment, problem: String, at now: Date
    ) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                """
                SELECT iap.note_hearing(
                    \(bundleID.text), \(environment.rawValue), NULL, NULL, NULL, \(now), \(problem))
                """)
        }
    }

    /// What was delivered longer ago says nothing of Apple's silence today.
    private static let drySpell: SQL = "interval '30 days'"

    /// How many reasons are told each by itself: a reason may repeat what anybody posted.
    private static let mostProblems: Int64 = 5

    /// The notifications of an app that could not be taken, by reason, the commonest first.
    private static let notTaken: SQL = """
        LEFT JOIN LATERAL (
            SELECT
                array_agg(heard_by ORDER BY rank, heard_by) AS ways,
                array_agg(problem ORDER BY rank, heard_by) AS problems,
                array_agg(notices ORDER BY rank, heard_by) AS counts
            FROM (
                SELECT
                    heard_by, least(rank, \(mostProblems + 1)) AS rank,
                    CASE WHEN rank <= \(mostProblems) THEN problem ELSE 'other reasons' END AS problem,
                    sum(notices)::bigint AS notices
                FROM (
                    SELECT
                        row_number() OVER (ORDER BY count(*) DESC, handed.problem, handed.heard_by) AS rank,
                        handed.heard_by, handed.problem, count(*) AS notices
                    FROM iap.handed_notices AS handed
                    WHERE handed.bundle_id = wanted.bundle_id AND handed.problem IS NOT NULL
                    GROUP BY handed.heard_by, handed.problem
                ) AS counted
                GROUP BY 1, 2, 3
            ) AS told
        ) AS not_taken ON true
        """

    /// How hearing these apps goes: up to when, and what can't be read.
    public func hearings(of apps: [App], now: Date) async throws(LedgerError) -> [HearingFigures] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    wanted.bundle_id, known.heard_through, known.last_signed_at, known.problem,
                    not_taken.ways, not_taken.problems, not_taken.counts,
                    coalesce(unsent.notices, 0) AS unsent, unsent.last_result,
                    coalesce(delivered.purchases, 0) AS delivered
                FROM unnest(\(apps.map(\.bundleID.text)), \(apps.map(\.environment.rawValue))) WITH ORDINALITY
                    AS wanted (bundle_id, environment, number)
                LEFT JOIN hearings AS known USING (bundle_id, environment)
                \(Self.notTaken)
                LEFT JOIN LATERAL (
                    SELECT count(*) AS notices, max(last_result) AS last_result
                    FROM \(stored: .notices) AS notices
                    WHERE notices.bundle_id = wanted.bundle_id AND notices.environment = wanted.environment
                        AND signed_at > \(now) - interval '3 days' AND sending IN ('retrying', 'failed')
                ) AS unsent ON true
                LEFT JOIN LATERAL (
                    SELECT count(*) AS purchases
                    FROM \(stored: .transactions) AS t
                    WHERE known.last_signed_at IS NOT NULL AND t.place = 'black'
                        AND t.delivered_at > greatest(known.last_signed_at, \(now) - \(Self.drySpell))
                        AND t.delivered_by = 'claim'
                        AND t.bundle_id = wanted.bundle_id AND t.environment = wanted.environment
                ) AS delivered ON true
                WHERE known.bundle_id IS NOT NULL OR not_taken.counts IS NOT NULL
                ORDER BY wanted.number
                """)
            return try rows.map { try HearingFigures($0) }
        }
    }
}

extension HearingFigures {
    fileprivate init(_ row: Row) throws {
        let ways = try row.words("ways", of: HeardNotice.Way.self)
        let problems = try row.decode("problems", as: [String]?.self) ?? []
        let counts = try row.decode("counts", as: [Int64]?.self) ?? []
        let notTaken = zip(ways, zip(problems, counts)).map { way, told in
            NotTaken(heardBy: way, problem: told.0, notices: Int(told.1))
        }
        self.init(
            bundleID: try row.id("bundle_id"), heardThrough: try row.decode("heard_through"),
            lastSignedAt: try row.decode("last_signed_at"), problem: try row.decode("problem"),
            notTaken: notTaken, unsent: try row.decode("unsent"), whyUnsent: try row.decode("last_result"),
            deliveredSince: try row.decode("delivered"))
    }
}
