import PostgreSQL

/// What an examination of the database found.
public struct DatabaseExamination: Sendable {
    /// As PostgreSQL counts its versions: 150004 is 15.4.
    public let serverVersion: Int
    /// What the job must do and the role may not, such as "UPDATE on iap.cases".
    public let missingRights: [String]
    /// Whether the role could also change what it must never change.
    public let isTooPowerful: Bool
    /// Whether the server is a standby, which takes no changes.
    public let isStandby: Bool
    /// Whether the role, the database or the server was told to take no changes.
    public let isReadOnly: Bool
    /// Whether the server never waits for the disk: a crash of its host spoils what it keeps.
    public let isVolatile: Bool
    /// Whether the operating system's library orders text otherwise than when the database's indexes were built: what
    /// they hold may not be found.
    public let isSortedOtherwise: Bool
}

extension LedgerSession {
    /// Looks at what a run relies on in the server and its own role. This needs no right, but the schema must be
    /// current.
    public func examine() async throws(LedgerError) -> DatabaseExamination {
        try await translating {
            let row = try await connection.only(
                """
                SELECT
                    pg_is_in_recovery() AS is_standby,
                    current_setting('default_transaction_read_only') = 'on' AS is_read_only,
                    current_setting('fsync') = 'off' AS is_volatile,
                    (
                        SELECT datcollversion <> pg_database_collation_actual_version(oid)
                        FROM pg_database
                        WHERE datname = current_database()
                    ) IS TRUE AS is_sorted_otherwise,
                    rolsuper OR pg_has_role(
                        (SELECT relowner FROM pg_class WHERE oid = 'iap.events'::regclass), 'MEMBER')
                        AS is_too_powerful
                FROM pg_roles
                WHERE rolname = current_user
                """)
            return DatabaseExamination(
                serverVersion: connection.serverVersion, missingRights: try await missingRights(of: .job),
                isTooPowerful: try row.decode("is_too_powerful"), isStandby: try row.decode("is_standby"),
                isReadOnly: try row.decode("is_read_only"), isVolatile: try row.decode("is_volatile"),
                isSortedOtherwise: try row.decode("is_sorted_otherwise"))
        }
    }

    /// Whether a proxy between here and the server, such as PgBouncer, gives each transaction to whatever session of
    /// the server is free. Locks, settings and temporary tables of such a session are another client's a moment later.
    ///
    /// It does if a session that answered this one is lent to a second client while this one still stands. If nothing
    /// is between, the server says its own number.
    public func isPooledByTransaction(_ settings: LedgerSettings) async throws(LedgerError) -> Bool {
        let own = connection.processID
        guard try await serversProcess(connection) != own else { return false }
        let second: LedgerSession
        do {
            second = try await Self.open(settings)
        } catch {
            throw LedgerError(translating: error)
        }
        defer { second.close() }
        for _ in 0..<Self.loans {
            let before = try await serversProcess(connection)
            if try await serversProcess(second.connection) == before { return true }
        }
        return false
    }

    private static let loans = 3

    private func serversProcess(_ connection: Connection) async throws(LedgerError) -> Int32 {
        try await translating {
            try await connection.only("SELECT pg_backend_pid() AS process").decode("process")
        }
    }
}
