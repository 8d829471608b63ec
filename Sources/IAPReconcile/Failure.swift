import Importing
import Reconciliation

/// What the user is told of an error, and the exit code for it.
struct Failure {
    let message: String
    let code: ExitCode
    /// The message for those who are told of a run.
    let publicMessage: String

    init(_ error: any Error) {
        let ending = Ending(error)
        code = ending.exitCode
        switch error {
        case let error as UsageError: message = "\(error)\nTry “iap-reconcile --help”."
        case let error as ImportError: message = ImportText.text(error)
        case let error as any ForeseenError: message = error.description
        default: message = "an internal error: \(error)"
        }
        publicMessage = error is any ForeseenError ? message : ending.publicText
    }
}
