public import Reconciliation

/// One thing that must be there before the job can run, and how it comes there.
public protocol SetupStep {
    /// What it is, in a word or two.
    var name: String { get }
    /// What `perform` would do, a line each; empty if all of it is there.
    func missing() async throws -> [String]
    /// Does what `missing` names.
    func perform() async throws
}

/// Why the setup could not go on. It may be shown to anyone: no secret is in it.
public struct SetupError: ForeseenError {
    public let description: String
    public let exitCode: ExitCode

    public init(_ description: String, exitCode: ExitCode = .noPermission) {
        self.description = description
        self.exitCode = exitCode
    }
}
