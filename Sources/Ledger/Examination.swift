public import Foundation
import PostgreSQL

/// What an examination of the database found.
public struct DatabaseExamination: Sendable {
    /// As PostgreSQL counts its versions: 150004 is 15.4.
    public let serverVersion: Int
    /// The server's clock less this machine's, in seconds.
    public let clockDifference: TimeInterval
    /// What the role may not do and the job must, such as "UPDATE on iap.cases".
    public let missingRights: [String]
    /// Whether the role could also change what it must never change.
    public let isTooPowerful: Bool
    /// Whether the server takes no changes: a standby, or a primary that was told so.
    public let isReadOnly: Bool
    /// Whether the database was made for replays.
    public let isRehearsal: Bool
    /// How long ago, in seconds, a run was complete; nothing where none was.
    public let sinceComplete: TimeInterval?
}

extension LedgerSession {
    /// Looks at everything of the database that a run relies on. The schema must be current.
    public func examine() async throws(LedgerError) -> DatabaseExamination {
        try await translating {
            let before = Date()
            let row = try await connection.only(
                """
                SELECT
                    clock_timestamp() AS clock, pg_is_in_recovery()
                        OR current_setting('default_transaction_read_only') = 'on' AS is_read_only,
                    EXISTS (SELECT FROM iap.rehearsal) AS is_rehearsal,
                    (SELECT max(finished_at) FROM iap.runs WHERE state = 'complete') AS complete_at,
                    rolsuper OR pg_has_role(
                        (SELECT relowner FROM pg_class WHERE oid = 'iap.events'::regclass), 'MEMBER')
                        AS is_too_powerful
                FROM pg_roles
                WHERE rolname = current_user
                """)
            let middle = before.addingTimeInterval(Date().timeIntervalSince(before) / 2)
            let clock = try row.decode("clock", as: Date.self)
            return DatabaseExamination(
                serverVersion: connection.serverVersion,
                clockDifference: clock.timeIntervalSince(middle),
                missingRights: try await missingRights(),
                isTooPowerful: try row.decode("is_too_powerful"), isReadOnly: try row.decode("is_read_only"),
                isRehearsal: try row.decode("is_rehearsal"),
                sinceComplete: try row.decode("complete_at", as: Date?.self).map { clock.timeIntervalSince($0) })
        }
    }
    /// Whether a proxy between here and the server, such as PgBouncer, gives each transaction to whatever session of the
    /// server is free. Locks, settings and temporary tables of such a session are another client's a moment later.
    ///
    /// A server's session that answered this one is lent to a second client, while this one still stands: that proves it.
    /// Where nothing stands between, the server says its own number.
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
