public import Foundation
package import Ledger
public import Reconciliation
public import Verification

/// Everything the job is told from outside: what the configuration says, parsed and checked.
public struct JobSettings: Sendable {
    /// A connection string, as libpq understands it (`host=… dbname=…`, or a URI); empty for libpq's own environment
    /// and defaults.
    public var database: String
    /// How whoever takes over a company's own history reaches the database; `nil` if it is the job's own way.
    public var importDatabase: String?
    public var apps: [AppSettings]
    /// What the night pulls from a company's own databases and files.
    public var sources: [SourceSettings] = []
    /// The access to Apple's sales reports; `nil` if they are not fetched.
    public var sales: SalesAccess?
    /// The folder of the files of decisions that the night takes; `nil` if there is none.
    public var decisions: DecisionFolder?
    public var apple = AppleSettings()
    public var workers = Workers.exclusive
    /// Database connections that own buckets at the same time.
    public var connections = 2
    /// The most receipts in a batch.
    public var batchSize = 512
    /// The most questions of a night, for each app, about what was sold before.
    public var questionsANight = 10_000
    /// The share (0…1) of the receipts tried that may have to be tried again before the run ends with code 75.
    public var tryAgainShare = 0.5
    /// The zone in which support staff read times, beside UTC.
    public var timeZone = TimeZone.gmt
    /// Seconds that one statement of the job may take; `nil` for no limit.
    public var statementTimeout: TimeInterval? = 600
    /// Seconds for which a night that is under way waits for a database that went away, and for other sessions' locks
    /// on whole tables.
    public var patience: TimeInterval = 60
    public var retention = Retention()

    public init(database: String, apps: [AppSettings]) {
        self.database = database
        self.apps = apps
    }
}

extension JobSettings {
    /// Seconds for which another session's lock on rows is waited for. A session that holds rows for longer holds up
    /// what needs them, but not the night.
    package var conflictPatience: TimeInterval { min(10, patience) }

    /// How the job's own role reaches the ledger.
    package var ledger: LedgerSettings { LedgerSettings(database: database, statementTimeout: statementTimeout) }
}

extension JobSettings {
    /// How customers of an app are asked about again. An app without a key asks by receipts, and so before their payloads
    /// are taken away: twice in that time, for a night may be missed.
    package func reasking(of app: AppSettings) -> Reasking? {
        guard app.serverAPI == nil, let reasking = app.reasking, let payloads = retention.payloads else {
            return app.reasking
        }
        return Reasking(window: reasking.window, interval: min(reasking.interval, payloads / 2))
    }
}

/// Whether several runs may work on one night.
public enum Workers: String, Sendable, CaseIterable {
    /// A second run says so and ends with code 75.
    case exclusive
    /// Runs on any number of hosts share the buckets.
    case shared
}

extension JobSettings {
    /// Whether libpq can read a connection string.
    public static func isReadable(conninfo: String) -> Bool { (try? DatabaseAddress(conninfo)) != nil }
}
