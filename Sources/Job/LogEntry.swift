import Reconciliation

/// One line of the job's log. It holds no secret, no payload and no bind value.
public struct LogEntry: Sendable {
    /// How much it matters, from what only a verbose log holds to what somebody must look at.
    public enum Level: String, Sendable, CaseIterable, Comparable {
        case debug, info, warning, error

        public static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }
    }

    public let level: Level
    public let message: String
    /// What belongs to the message, by name.
    public let fields: [String: String]
    /// The run that it belongs to, once there is one.
    public let runID: Int64?

    public init(_ level: Level, _ message: String, fields: [String: String] = [:], runID: Int64? = nil) {
        self.level = level
        self.message = message
        self.fields = fields
        self.runID = runID
    }
}

extension LogEntry {
    /// A session went away, and is waited for.
    ///
    /// - Parameter why: what the database, or the connection to it, said of that.
    package static func lostDatabase(_ why: String, runID: Int64? = nil) -> LogEntry {
        LogEntry(.warning, "lost the database, waiting for it", fields: ["error": why], runID: runID)
    }
}
