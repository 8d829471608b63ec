import Foundation
import PostgreSQL

/// What holds after every night, whatever happened in it.
struct Invariants {
    let stage: Stage

    /// Queries, each of which returns the rows that should not exist.
    private static let queries: [(what: String, sql: SQL)] = [
        (
            "an id was delivered in both environments",
            """
            SELECT transaction_id FROM iap.black
            GROUP BY transaction_id, bundle_id HAVING count(*) > 1
            """
        ),
        (
            "a transaction was delivered twice",
            """
            SELECT transaction_id FROM iap.claims WHERE outcome = 'delivered'
            GROUP BY transaction_id, bundle_id HAVING count(*) > 1
            """
        ),
        ("a run counts as running", "SELECT run_id FROM iap.runs WHERE state = 'running'"),
        (
            "the white table is not what was moved into it and out of it",
            """
            SELECT
            FROM (SELECT count(*) AS transactions FROM iap.white) AS white
            CROSS JOIN (SELECT count(*) AS transactions FROM iap.entries WHERE place = 'white') AS entered
            CROSS JOIN (
                SELECT
                    count(*) FILTER (WHERE to_place = 'white') - count(*) FILTER (WHERE from_place = 'white')
                        AS transactions
                FROM iap.moves) AS moved
            WHERE white.transactions <> entered.transactions + moved.transactions
            """
        ),
        (
            "a run opens with another white table than the one before closed with",
            """
            SELECT run_id
            FROM (
                SELECT run_id, opening_white, lag(closing_white) OVER (ORDER BY closing_number) AS closed
                FROM iap.runs WHERE closing_number IS NOT NULL) AS books
            WHERE opening_white <> closed
            """
        ),
    ]

    func check() async throws {
        let connection = try await stage.connect()
        defer { connection.close() }
        for (what, sql) in Self.queries where try await !connection.query(sql).isEmpty {
            throw Broken(what)
        }
        try checkReports()
        try await verify()
    }

    /// Checks that every seal and the audit trail hold, too.
    private func verify() async throws {
        var job = stage.job
        job.command = ["verify"]
        job.conninfo = stage.superuser
        try await stage.run(job, expecting: [0])
    }

    /// Checks that no half-written report is left, beside the complete ones.
    private func checkReports() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: stage.reports)
        let halves = names.filter { $0.hasPrefix(".") }
        guard halves.isEmpty else { throw Broken("what is left of reports: \(halves.sorted())") }
    }
}
