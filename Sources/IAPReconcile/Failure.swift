import Importing
import NightlyRun
import Reconciliation

/// What the user is told of an error, and how the program ends for it.
struct Failure {
    let message: String
    let code: ExitCode
    /// The same for those who are told of a run: nothing of an error that nobody foresaw, for it may show anything.
    let publicMessage: String

    /// The one place where errors become text and exit code.
    init(_ error: any Error) {
        var isForeseen = true
        switch error {
        case let error as UsageError:
            message = "\(error)\nTry “iap-reconcile --help”."
            code = .usage
        case let error as UnusableFile:
            message = error.description
            code = .dataError
        case let error as ImportError:
            message = ImportText.text(error)
            code = .dataError
        case let error as UnwritableFile:
            message = error.description
            code = .noPermission
        case let error as ConfigurationError:
            message = error.description
            code = .configuration
        case let error as JobError:
            (message, code) = Self.end(of: error)
        case let error as ReportError:
            (message, code) = Self.end(of: JobError(error))
        default:
            message = "an internal error: \(error)"
            code = .software
            isForeseen = false
        }
        publicMessage = isForeseen ? message : "an internal error, of which the job's log says more"
    }

    private static func end(of error: JobError) -> (String, ExitCode) {
        (error.description, ExitCode(rawValue: error.exitCode) ?? .software)
    }
}
