public import Foundation

/// What the database knows of the time.
public struct LedgerTime: Sendable {
    /// PostgreSQL's clock, and this host's at the same moment.
    public var server: Date
    public var host: Date
    /// The latest moment that a run took for the present, and which run.
    public var latest: (runID: Int64, asOf: Date)?
    /// Whether the database was made for replays.
    public var isRehearsal: Bool
    /// When a run was last complete.
    public var completeAt: Date?

    /// Seconds by which PostgreSQL's clock is ahead of this host's.
    public var offset: TimeInterval { server.timeIntervalSince(host) }

    public init(
        server: Date, host: Date, latest: (runID: Int64, asOf: Date)? = nil, isRehearsal: Bool = false,
        completeAt: Date? = nil
    ) {
        self.server = server
        self.host = host
        self.latest = latest
        self.isRehearsal = isRehearsal
        self.completeAt = completeAt
    }
}
