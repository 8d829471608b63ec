/// How the program ends, in the numbers of sysexits.h. A run's row, the webhook and the metrics keep the same number.
public enum ExitCode: Int32, CaseIterable, Sendable {
    /// Everything due was tried, whatever was found.
    case done = 0
    /// The command line can't be understood.
    case usage = 64
    /// What was asked for is not there, or is of no use.
    case dataError = 65
    /// The database or Apple was unavailable from the start; nothing was processed.
    case unavailable = 69
    /// An internal error, totals that don't balance, or tables that don't hold together.
    case software = 70
    /// Ended before everything due was tried; the rest stays in the inbox.
    case tryLater = 75
    /// The database refuses the role or password, or something can't be written.
    case noPermission = 77
    /// The configuration or the database's schema doesn't fit.
    case configuration = 78
}

/// An error that was foreseen. What it says of itself may be shown to anyone: no secret, no payload.
public protocol ForeseenError: Error, CustomStringConvertible {
    /// How the program ends for it.
    var exitCode: ExitCode { get }
}

/// What an error means for the program's end: the one place where errors become exit codes.
public struct Ending: Sendable {
    public let exitCode: ExitCode
    /// What anyone may be told: nothing of an unforeseen error, because it may show anything.
    public let publicText: String

    public init(_ error: any Error) {
        let foreseen = error as? any ForeseenError
        exitCode = foreseen?.exitCode ?? .software
        publicText = foreseen?.description ?? "an internal error, of which the job's log says more"
    }
}
