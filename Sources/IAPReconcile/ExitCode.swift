/// How the program ends, in the numbers of sysexits.h.
enum ExitCode: Int32, CaseIterable, Sendable {
    /// Everything due was tried, whatever was found.
    case done = 0
    case usage = 64
    /// What was asked for is not there.
    case dataError = 65
    /// The database or Apple was unavailable from the start; nothing was processed.
    case unavailable = 69
    /// An internal error, or totals that don't balance.
    case software = 70
    /// Ended before everything due was tried; the rest stays in the inbox.
    case tryLater = 75
    case noPermission = 77
    case configuration = 78
}
