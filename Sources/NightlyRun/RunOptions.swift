public import Job

/// What one run is asked to do, from the command line.
public struct RunOptions: Sendable {
    /// Verify and report, write nothing.
    public var isDryRun: Bool
    /// How many receipts to try; those that hold the last one's payload are tried with it.
    public var limit: Int?
    /// The moment to take for the present.
    public var asOf: AsOf

    public init(isDryRun: Bool = false, limit: Int? = nil, asOf: AsOf = .clock) {
        self.isDryRun = isDryRun
        self.limit = limit
        self.asOf = asOf
    }
}
