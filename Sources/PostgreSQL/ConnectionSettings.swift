public import Foundation

/// How to reach a server and how a session on it is set up.
public struct ConnectionSettings: Sendable {
    /// A keyword string or URI as libpq understands it. libpq takes what it leaves out from the service file, the
    /// environment and `.pgpass`.
    public var conninfo: String
    /// The name of this program in the server's views and logs, unless `conninfo` or the environment gives one.
    public var applicationName: String
    /// Seconds for reaching each host, unless `conninfo` says so itself.
    public var connectTimeout: TimeInterval
    /// Seconds after which the server gives up a statement.
    public var statementTimeout: TimeInterval?
    /// Seconds of silence, while an answer is due, after which the session counts as lost: a network that forgot the
    /// connection tells neither side. By default it is a tenth longer than `statementTimeout` and five seconds more, so
    /// that the server always gives up first; without a `statementTimeout` there is none.
    public var replyTimeout: TimeInterval?
    /// Seconds after which the server gives up waiting for a lock.
    public var lockTimeout: TimeInterval?
    /// Seconds after which the server ends a session that stays idle within a transaction.
    public var idleInTransactionTimeout: TimeInterval?
    /// The schemas in which unqualified names are looked up, separated by commas.
    public var searchPath: String?
    /// Settings of extensions or of the schema's own, whose names contain a dot.
    public var furtherParameters: [String: String]
    /// Settings by the first server version that has them, such as 170000 for 17; older servers go without.
    public var newerParameters: [Int: [String: String]]
    /// Receives the server's notices and warnings; none is dropped.
    public var onNotice: (@Sendable (Notice) -> Void)?

    public init(
        _ conninfo: String,
        applicationName: String = "iap-reconcile",
        connectTimeout: TimeInterval = 10,
        statementTimeout: TimeInterval? = nil,
        lockTimeout: TimeInterval? = nil,
        idleInTransactionTimeout: TimeInterval? = nil,
        replyTimeout: TimeInterval? = nil,
        searchPath: String? = nil,
        furtherParameters: [String: String] = [:],
        newerParameters: [Int: [String: String]] = [:],
        onNotice: (@Sendable (Notice) -> Void)? = nil
    ) {
        self.conninfo = conninfo
        self.applicationName = applicationName
        self.connectTimeout = connectTimeout
        self.statementTimeout = statementTimeout
        self.lockTimeout = lockTimeout
        self.idleInTransactionTimeout = idleInTransactionTimeout
        self.replyTimeout = replyTimeout ?? statementTimeout.map { $0 * 1.1 + 5 }
        self.searchPath = searchPath
        self.furtherParameters = furtherParameters
        self.newerParameters = newerParameters
        self.onNotice = onNotice
    }

    /// A message of the server beside a result.
    public struct Notice: Sendable {
        /// `NOTICE`, `WARNING` …, in the server's language.
        public let severity: String
        public let message: String
    }

    /// libpq's keywords in order: a later one wins, so `conninfo` overrides those before it.
    var keywords: [(name: String, value: String)] {
        [
            ("connect_timeout", String(Int(connectTimeout.rounded(.up)))),
            ("fallback_application_name", applicationName),
        ] + Self.keepAlive + [
            ("dbname", conninfo),
            ("client_encoding", "UTF8"),
        ]
    }

    /// Notices within a minute and a half that the peer is gone: by default Linux takes two hours on an idle
    /// connection, and a quarter of an hour on one that sends.
    private static let keepAlive = [
        ("keepalives_idle", "60"), ("keepalives_interval", "10"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "90000"),
    ]
    /// The same on the server's side, so that the locks of a client that is gone are freed soon.
    private static let serverKeepAlive = [
        ("tcp_keepalives_idle", "60"), ("tcp_keepalives_interval", "10"), ("tcp_keepalives_count", "3"),
        ("tcp_user_timeout", "90000"),
    ]

    /// The session's settings on a server of that version; the server checks each.
    func parameters(on serverVersion: Int) -> [(name: String, value: String)] {
        func milliseconds(_ seconds: TimeInterval) -> String { "\(Int((seconds * 1000).rounded(.up)))ms" }
        let all: [(String, String?)] = [
            ("statement_timeout", statementTimeout.map(milliseconds)),
            ("lock_timeout", lockTimeout.map(milliseconds)),
            ("idle_in_transaction_session_timeout", idleInTransactionTimeout.map(milliseconds)),
            ("search_path", searchPath),
            // With these, text reads the same, whatever the server, the database or the role has set.
            ("datestyle", "ISO"),
        ]
        let newer = newerParameters.filter { $0.key <= serverVersion }.flatMap { Array($0.value) }
        let further = (Array(furtherParameters) + newer).sorted { $0.key < $1.key }
        return all.compactMap { name, value in value.map { (name, $0) } }
            + further.map { ($0.key, $0.value) } + Self.serverKeepAlive
    }
}

extension ConnectionSettings: CustomStringConvertible, CustomReflectable {
    /// Leaves out `conninfo`, which may hold a password.
    public var description: String { "ConnectionSettings(applicationName: \(applicationName))" }
    public var customMirror: Mirror { Mirror(self, children: ["applicationName": applicationName]) }
}
