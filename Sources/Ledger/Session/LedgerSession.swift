public import Foundation
import PostgreSQL
import Reconciliation

/// How a session reaches the database.
public struct LedgerSettings: Sendable {
    /// A connection string, as libpq understands it.
    public var database: String
    /// Seconds that one statement may take; `nil` for no limit.
    public var statementTimeout: TimeInterval?
    /// The moment that the database's functions take for the present; `nil` for the clock's.
    public var present: Date?

    public init(database: String, statementTimeout: TimeInterval? = nil, present: Date? = nil) {
        self.database = database
        self.statementTimeout = statementTimeout
        self.present = present
    }
}

/// One connection to the ledger. The locks that it takes are the session's own: they end with it.
///
/// What a night writes is named without its schema: a dry run puts shadows of its own in front (`shadowTables()`), and
/// `StoredTable` names what is to be read past them.
public final class LedgerSession {
    let connection: Connection
    /// Whether a dry run's shadows stand in front of the ledger's tables.
    var isShadowed = false
    /// What the connection has staging tables for.
    var stagings: Set<Staging> = []
    /// Whether the inbox lies on the servers of a cluster, once that was asked.
    var hasDistributedInbox: Bool?
    /// The space of the ledger's advisory locks, once it was read.
    var space: Int32?

    private init(_ connection: Connection) {
        self.connection = connection
    }

    /// Seconds that the job waits for a row lock. Shorter than PostgreSQL's `deadlock_timeout` of a second, so that the
    /// job gives way and tries again if it and an app's server wait for each other.
    static let lockTimeout: TimeInterval = 0.5

    /// Seconds that the server leaves a session of the job's in the middle of a transaction without a word: the row
    /// locks of a machine that froze are in the way of an app's servers.
    private static let idleInTransactionTimeout: TimeInterval = 300

    /// Opens a session.
    ///
    /// - Parameter seconds: for how long a server is waited for that is just starting or has no connection free.
    public static func connect(
        _ settings: LedgerSettings, waiting seconds: TimeInterval = 0
    ) async throws(LedgerError) -> LedgerSession {
        var backoff = DatabaseBackoff(within: seconds, pause: 1...1)
        while true {
            do {
                return try await open(settings)
            } catch {
                let isPassing = error.sqlState.map(Self.passing.contains) ?? false
                guard isPassing, await backoff.mayTryAgain() else { throw LedgerError(translating: error) }
            }
        }
    }

    /// A server that is just starting, stops, has no connection free, or ended the session before it was set up.
    private static let passing: Set<SQLState> = [
        .cannotConnectNow, .tooManyConnections, .adminShutdown, .crashShutdown,
    ]

    static func open(_ settings: LedgerSettings) async throws(PostgreSQLError) -> LedgerSession {
        let session = LedgerSession(
            try await Connection.connect(
                ConnectionSettings(
                    settings.database, applicationName: "iap-reconcile",
                    statementTimeout: settings.statementTimeout, lockTimeout: lockTimeout,
                    idleInTransactionTimeout: idleInTransactionTimeout, searchPath: "iap, pg_temp",
                    furtherParameters: parameters(settings), newerParameters: liftedLimits)))
        try await session.commitDurably()
        return session
    }

    /// Has each commit be on disk before it is acknowledged, also where the server, the database or the login wants no
    /// waiting for that: a file of deliveries goes to `done/`, and would not come again if a crash forgot them. As
    /// `iap.commit_durably` does for an app's server.
    private func commitDurably() async throws(PostgreSQLError) {
        _ = try await connection.query(
            """
            SELECT set_config('synchronous_commit', 'local', false)
            WHERE current_setting('synchronous_commit') = 'off'
            """)
    }

    /// A run's own session stands idle while the workers work, and its locks would end with it: then another run could
    /// take the night. What a role or a database is limited to is meant for people and for an app's servers.
    private static let liftedLimits = [
        140_000: ["idle_session_timeout": "0"], 170_000: ["transaction_timeout": "0"],
    ]

    /// Statements are many and short, or few and only as long as the night's news: compiling them takes longer than it
    /// saves, and took a seventh of a night. What is looked up for a row is that row's own and not asked for again:
    /// memoizing it took an eighth of the time for reading the cases.
    ///
    /// A statement that stands by itself is read committed, as is a transaction that names no level, whatever the
    /// database has: a snapshot that is older than the statement would not see what others have just committed.
    ///
    /// If somebody enables row-level security on the ledger, a statement is refused rather than answered without the
    /// rows that this hides: such a night would find nothing due and nothing lost.
    private static func parameters(_ settings: LedgerSettings) -> [String: String] {
        var parameters = [
            "jit": "off", "enable_memoize": "off", "default_transaction_isolation": "read committed",
            "row_security": "off",
        ]
        // Otherwise the limit of the role or the database holds, if it has one.
        if settings.statementTimeout == nil { parameters["statement_timeout"] = "0" }
        parameters["iap.present"] = settings.present.map { $0.formatted(.iso8601) }
        return parameters
    }

    /// Opens the connection again after it was lost. Its locks are gone; the caller takes them anew. If the network
    /// lost it and the server has not noticed yet, what is left of it there is ended.
    public func reconnect() async throws(LedgerError) {
        let lost = lost ?? (connection.processID, .now)
        self.lost = lost
        try await translating {
            try await connection.reconnect()
            try await commitDurably()
            stagings = []
            try await end(lost.processID, lostAt: lost.at)
            try await reachInbox()
        }
        self.lost = nil
    }

    /// The connection that was lost and has not come back yet.
    private var lost: (processID: Int32, at: ContinuousClock.Instant)?

    /// Ends a session on the server. Another may have its number by now: one that began later.
    private func end(_ processID: Int32, lostAt moment: ContinuousClock.Instant) async throws {
        _ = try await connection.query(
            """
            SELECT pg_terminate_backend(pid, 5000)
            FROM pg_stat_activity
            WHERE pid = \(processID) AND pid <> pg_backend_pid() AND datname = current_database()
                AND usename = current_user AND application_name = current_setting('application_name')
                AND backend_start < clock_timestamp() - \((ContinuousClock.now - moment) / .seconds(1)) * interval '1 second'
            """)
    }

    /// Whether the connection, and with it every lock that the session took, still stands.
    public var isAlive: Bool { connection.isAlive }

    /// Ends the session and frees its locks.
    public func close() {
        connection.close()
    }
}
