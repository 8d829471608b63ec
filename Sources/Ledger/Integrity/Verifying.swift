public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Looks at everything that must always hold of the tables, all of one snapshot.
    ///
    /// - Parameter body: is told of each check as soon as it is done.
    public func verify(_ body: (IntegrityFinding) -> Void) async throws(LedgerError) -> AuditTrail {
        try await translating {
            try await connection.transaction(.repeatableRead) {
                for check in IntegrityCheck.allCases {
                    body(try await find(check))
                }
                let row = try await connection.only(
                    """
                    SELECT
                        count(*) AS events,
                        (SELECT encode(link, 'hex') FROM audit.seals ORDER BY position DESC LIMIT 1) AS link
                    FROM audit.seals
                    """)
                return AuditTrail(
                    events: try row.decode("events"), end: try row.decode("link", as: String?.self) ?? "")
            }
        }
    }

    /// Looks at what every run looks at: the whole white table, and the deliveries since the run before.
    ///
    /// - Throws: `LedgerError.violated` with what does not hold.
    public func checkNight(startedAt: Date) async throws(LedgerError) {
        let findings: [IntegrityFinding] = try await translating {
            let before = try await connection.only(
                """
                SELECT max(started_at) AS started_at
                FROM runs
                WHERE closing_number IS NOT NULL AND started_at < \(startedAt)
                """
            ).decode("started_at", as: Date?.self)
            var findings: [IntegrityFinding] = []
            for check in IntegrityCheck.everyNight {
                findings.append(try await find(check, since: before))
            }
            return findings
        }
        let violated = findings.filter { !$0.isFine }
        guard violated.isEmpty else { throw .violated(violated) }
    }

    private func find(_ check: IntegrityCheck, since: Date? = nil) async throws -> IntegrityFinding {
        let row = try await connection.only(
            """
            SELECT count(*) AS violations, (array_agg(example))[1:\(Int32(IntegrityFinding.mostExamples))] AS examples
            FROM (\(check.violations(since: since))) AS violation
            """)
        return IntegrityFinding(
            check, count: try row.decode("violations"),
            examples: try row.decode("examples", as: [String]?.self) ?? [])
    }

    /// Continues the audit trail's chain over what was written since it was continued last.
    public func sealEvents(of runID: Int64) async throws(LedgerError) {
        guard !isShadowed else { return }
        try await translating {
            _ = try await connection.query("SELECT audit.seal_events(\(runID))")
        }
    }
}
