import Reconciliation

/// What is wrong with the configuration, and where.
struct ConfigurationError: ForeseenError, Equatable {
    let file: String
    /// `nil` if it is about the whole file.
    let line: Int?
    let text: String

    var exitCode: ExitCode { .configuration }

    var description: String {
        line.map { "\(file):\($0): \(text)" } ?? "\(file): \(text)"
    }
}
