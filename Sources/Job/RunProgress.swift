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
