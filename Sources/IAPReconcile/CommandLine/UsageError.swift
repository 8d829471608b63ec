import Reconciliation

/// A command line that can't be understood.
struct UsageError: ForeseenError, Equatable {
    let description: String
    let exitCode = ExitCode.usage

    init(_ description: String) {
        self.description = description
    }
}
