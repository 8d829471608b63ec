public import Foundation
import PostgreSQL

/// What an examination of the database found.
public struct DatabaseExamination: Sendable {
    /// As PostgreSQL counts its versions: 150004 is 15.4.
    public let serverVersion: Int
    /// Whether a session lock outlives its statement; behind a proxy that pools transactions it does not.
    public let keepsSessions: Bool
    /// The server's clock less this machine's, in seconds.
    public let clockDifference: TimeInterval
    /// What the role may not do and the job must, such as "UPDATE on iap.cases".
    public let missingRights: [String]
    /// Whether the role could also change what it must never change.
    public let isTooPowerful: Bool
}

extension LedgerSession {
    /// Looks at everything of the database that a run relies on. The schema must be current.
    public func examine() async throws(LedgerError) -> DatabaseExamination {
        try await translating {
            let before = Date()
            let row = try await connection.only(
                """
                SELECT
                    clock_timestamp() AS clock, pg_backend_pid() AS process,
                    rolsuper OR pg_has_role(
                        (SELECT relowner FROM pg_class WHERE oid = 'iap.events'::regclass), 'MEMBER')
                        AS is_too_powerful
                FROM pg_roles
                WHERE rolname = current_user
                """)
            let middle = before.addingTimeInterval(Date().timeIntervalSince(before) / 2)
            return DatabaseExamination(
                serverVersion: connection.serverVersion,
                keepsSessions: try await connection.only(
                    "SELECT pg_backend_pid() = \(try row.decode("process", as: Int32.self)) AS is_same"
                ).decode("is_same"),
                clockDifference: try row.decode("clock", as: Date.self).timeIntervalSince(middle),
                missingRights: try await missingRights(),
                isTooPowerful: try row.decode("is_too_powerful"))
        }
    }
}
