public import Foundation
import PostgreSQL
import Reconciliation

/// How a session reaches the database.
public struct LedgerSettings: Sendable {
    /// As libpq understands it.
    public var database: String
    /// Seconds that one statement may take; nothing for no limit.
    public var statementTimeout: TimeInterval?
    /// The moment that the database's functions take for the present; nothing for the clock's.
    public var present: Date?

    public init(database: String, statementTimeout: TimeInterval? = nil, present: Date? = nil) {
        self.database = database
        self.statementTimeout = statementTimeout
        self.present = present
    }
}

/// One connection to the ledger. The locks that it takes are the session's own: they end with it.
///
/// Every table is named without its schema: a dry run puts shadows of its own in front (`shadowTables()`).
public final class LedgerSession {
    let connection: Connection
    /// Whether a dry run's shadows stand in front of the ledger's tables.
    var isShadowed = false

    private init(_ connection: Connection) {
        self.connection = connection
    }

    /// Seconds that the job waits for a row lock. Shorter than PostgreSQL's `deadlock_timeout` of a second, so that
    /// where the job and an app's server wait for each other it is the job that gives way and tries again.
    static let lockTimeout: TimeInterval = 0.5

    /// Opens a session.
    public static func connect(_ settings: LedgerSettings) async throws(LedgerError) -> LedgerSession {
        try await translating {
            let connection = try await Connection.connect(
                ConnectionSettings(
                    settings.database, applicationName: "iap-reconcile",
                    statementTimeout: settings.statementTimeout, lockTimeout: lockTimeout,
                    searchPath: "iap, pg_temp",
                    furtherParameters: settings.present.map { ["iap.present": $0.formatted(.iso8601)] } ?? [:]))
            return LedgerSession(connection)
        }
    }

    /// Opens the connection again after it was lost. Its locks are gone; the caller takes them anew.
    public func reconnect() async throws(LedgerError) {
        try await translating { try await connection.reconnect() }
    }

    /// Whether the connection, and with it every lock that the session took, still stands.
    public var isAlive: Bool { connection.isAlive }

    /// Ends the session and frees its locks.
    public func close() {
        connection.close()
    }
}
