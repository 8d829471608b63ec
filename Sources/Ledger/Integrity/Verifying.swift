import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Looks at everything that must always hold of the tables, all of one snapshot.
    ///
    /// - Parameters:
    ///   - end: an end of the chain that was kept outside of the database.
    ///   - body: is told of each check as soon as it is done.
    /// - Returns: how far the chain reaches, and whether it continues that end.
    public func verify(
        since end: String? = nil, _ body: (IntegrityFinding) -> Void
    ) async throws(LedgerError) -> (trail: AuditTrail, isContinued: Bool) {
        try await translating {
            try await connection.transaction(.repeatableRead) {
                for check in IntegrityCheck.allCases {
                    body(try await findDespiteValues(check))
                }
                return (try await trail(), try await continues(end))
            }
        }
    }

    /// How far the chain reaches.
    public func auditTrail() async throws(LedgerError) -> AuditTrail {
        try await translating { try await trail() }
    }

    private func trail() async throws -> AuditTrail {
        let row = try await connection.only(
            """
            SELECT
                coalesce(sum(entries), 0)::bigint AS entries,
                (SELECT encode(link, 'hex') FROM audit.links ORDER BY position DESC LIMIT 1) AS link
            FROM audit.links
            """)
        return AuditTrail(entries: try row.decode("entries"), end: try row.decode("link", as: String?.self) ?? "")
    }

    private func continues(_ end: String?) async throws -> Bool {
        guard let end else { return true }
        return try await connection.only(
            "SELECT EXISTS (SELECT FROM audit.links WHERE encode(link, 'hex') = \(end)) AS is_there"
        ).decode("is_there", as: Bool.self)
    }

    /// Looks at what every run looks at: what moved since the run before.
    ///
    /// - Throws: `LedgerError.violated` with what does not hold.
    public func checkNight() async throws(LedgerError) {
        try await translating {
            var findings: [IntegrityFinding] = []
            for check in IntegrityCheck.everyNight { findings.append(try await find(check, isNightly: true)) }
            let violated = findings.filter { !$0.isFine }
            guard violated.isEmpty else { throw LedgerError.violated(violated) }
        }
    }

    /// What was changed by hand may be a value with which a check can't reckon. That must not keep the others from being
    /// made.
    private func findDespiteValues(_ check: IntegrityCheck) async throws -> IntegrityFinding {
        try await connection.execute("SAVEPOINT looked_at")
        do {
            let finding = try await find(check)
            try await connection.execute("RELEASE SAVEPOINT looked_at")
            return finding
        } catch let error as PostgreSQLError where error.sqlState?.errorClass == "22" {
            try await connection.execute("ROLLBACK TO SAVEPOINT looked_at")
            return IntegrityFinding(check, count: 1, examples: ["a value with which it can't be reckoned"])
        }
    }

    private func find(_ check: IntegrityCheck, isNightly: Bool = false) async throws -> IntegrityFinding {
        let row = try await connection.only(
            """
            SELECT count(*) AS violations, (array_agg(example))[1:\(Int32(IntegrityFinding.mostExamples))] AS examples
            FROM (\(check.violations(isNightly: isNightly))) AS violation
            """)
        return IntegrityFinding(
            check, count: try row.decode("violations"),
            examples: try row.decode("examples", as: [String]?.self) ?? [])
    }
}
