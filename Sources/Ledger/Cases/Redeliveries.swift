public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Ends the redeliveries that have come to their end, and orders those of the apps that want it. A dry run does
    /// neither.
    ///
    /// - Returns: how many are ordered.
    public func orderRedeliveries(of apps: [App], runID: Int64, now: Date) async throws(LedgerError) -> Int {
        guard !isShadowed else { return 0 }
        return try await translating {
            try await connection.transaction {
                var ordered = 0
                _ = try await connection.query("SELECT iap.settle_redeliveries(\(runID), \(now))")
                for app in apps where app.redelivery == .high {
                    ordered += try await connection.only(
                        """
                        SELECT iap.order_redeliveries(
                            \(app.bundleID.text), \(app.environment.rawValue), \(runID), \(now)) AS ordered
                        """
                    ).decode("ordered", as: Int.self)
                }
                return ordered
            }
        }
    }

    /// The most failures that are named.
    private static let namedFailures = 100

    /// What became of redeliveries up to a run.
    public func redeliveryFigures(runID: Int64) async throws(LedgerError) -> RedeliveryFigures {
        try await translating {
            let counts = try await connection.only(
                """
                SELECT
                    count(*) FILTER (WHERE run_id = \(runID)) AS ordered,
                    count(*) FILTER (WHERE told_run_id = \(runID) AND ended_as = 'redelivered') AS delivered,
                    count(*) FILTER (WHERE ended_at IS NULL) AS open,
                    count(*) FILTER (WHERE \(Self.isFailing)) AS failing
                FROM redeliveries
                """)
            let failures = try await connection.query(
                """
                SELECT
                    transaction_id, bundle_id, environment, user_id, tries, taken_at,
                    iap.is_given_up(ROW(redeliveries.*)::iap.redeliveries) AS is_given_up
                FROM redeliveries
                WHERE \(Self.isFailing)
                ORDER BY tries DESC, taken_at, transaction_id, bundle_id, environment
                LIMIT \(Self.namedFailures)
                """)
            return RedeliveryFigures(
                ordered: try counts.decode("ordered"), delivered: try counts.decode("delivered"),
                open: try counts.decode("open"), failing: try counts.decode("failing"),
                failures: try failures.map { try FailingRedelivery($0) })
        }
    }

    static let isFailing: SQL = "ended_at IS NULL AND (tries > 0 AND due_at <= now() OR \(isLeft))"

    /// What no server took for a day no server may ever take: it is not waited for any longer.
    static let isLeft: SQL = "tries = 0 AND due_at <= now() - interval '1 day'"
}

extension FailingRedelivery {
    // Inlined into the coroutine above, it crashes the optimizer of Swift 6.3.
    @inline(never)
    fileprivate init(_ row: Row) throws {
        self.init(
            key: try TransactionKey(row), userID: try row.decode("user_id"),
            tries: Int(try row.decode("tries", as: Int32.self)), isGivenUp: try row.decode("is_given_up"),
            takenAt: try row.decode("taken_at", as: Date?.self))
    }
}
