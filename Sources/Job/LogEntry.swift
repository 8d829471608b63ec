/// One line of the job's log. It holds no secret, no payload and no bind value.
public struct LogEntry: Sendable {
    public enum Level: String, Sendable, CaseIterable, Comparable {
        case debug, info, warning, error

        public static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }
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

/// How far a run has come.
public struct RunProgress: Hashable, Sendable {
    /// What is being done: `verify` in a night, `import` of a file.
    public let stage: String
    public let done: Int
    public let total: Int

    public init(stage: String, done: Int, total: Int) {
        self.stage = stage
        self.done = done
        self.total = total
    }
}
