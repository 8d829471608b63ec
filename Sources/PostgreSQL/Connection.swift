import CPostgreSQL

/// A session on a PostgreSQL server, used from one task at a time.
///
/// Nothing here blocks a thread of Swift's: libpq sends and receives without waiting, and the task sleeps until the
/// socket is ready. A cancelled task asks the server to give up the statement, gets a `.cancelled` error, and may
/// continue to use the connection.
public final class Connection {
    let settings: ConnectionSettings
    var session: Session

    private init(_ settings: ConnectionSettings, _ session: Session) {
        self.settings = settings
        self.session = session
    }

    /// Opens a session. A task that is cancelled meanwhile continues to wait, for at most `connectTimeout` a host.
    /// - Throws: `.connection` if no server answers, `.authentication` if it refuses the user or password, `.server` if
    ///   it refuses the database or a setting, `.settings` if libpq can't use the connection's settings.
    public static func connect(_ settings: ConnectionSettings) async throws(PostgreSQLError) -> Connection {
        let connection = Connection(settings, try await Connecting.open(settings))
        try await connection.setUp()
        return connection
    }

    /// Gives up the session and opens another with the same settings. What the old one held, such as locks and
    /// temporary tables, is gone.
    public func reconnect() async throws(PostgreSQLError) {
        session.close()
        session = try await Connecting.open(settings)
        try await setUp()
    }

    /// Ends the session. Every later call is a `.connection` error, until `reconnect()`.
    public func close() { session.close() }

    /// Ends the current statement with a `.cancelled` error when it is called, and lets this session begin no other. An
    /// open transaction is still rolled back. May be called from any thread.
    public var giveUp: @Sendable () -> Void {
        let canceller = session.canceller
        return { canceller.requestForGood() }
    }

    /// False once libpq has noticed that the session is gone; it notices when it is used.
    public var isAlive: Bool { session.isAlive }

    /// The role and the server of the session, such as `iap_job on /run/postgresql:5432, database shop`.
    public var target: String { session.target }

    /// The server's version, such as 150006 for 15.6.
    public var serverVersion: Int { session.serverVersion }

    /// The server's process id for this session, as in `pg_stat_activity` and its logs.
    public var processID: Int32 { session.processID }

    private func setUp() async throws(PostgreSQLError) {
        var sql: SQL = "SELECT "
        for (index, parameter) in settings.parameters(on: session.serverVersion).enumerated() {
            sql += index == 0 ? "" : ", "
            sql += "set_config(\(parameter.name), \(parameter.value), false)"
        }
        do {
            _ = try await query(sql)
        } catch {
            session.close()
            throw error
        }
    }
}
