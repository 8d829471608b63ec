public import Reconciliation

/// Why a job could not do its work at all. What it holds may be shown to anyone: no secret, no payload.
public enum JobError: ForeseenError, Sendable {
    /// PostgreSQL can't be reached, or went away and did not come back.
    case databaseUnavailable(String)
    /// Another session's lock stayed in the way, or PostgreSQL went away and did not come back once the night was under
    /// way; what was not recorded is still due.
    case interrupted(String)
    /// PostgreSQL refuses the password, the role or a grant.
    case databaseRefuses(String)
    /// PostgreSQL has no database of the name that the configuration gives.
    case noDatabase(String)
    /// The schema is missing, older or newer than this program needs; the text says what to do.
    case schemaMismatch(String)
    /// Apple could not be reached from the start; nothing was processed.
    case appleUnavailable(String)
    /// Another run holds the lock.
    case anotherRun(String)
    /// A setting can't work, such as a shared secret that Apple refuses.
    case configuration(String)
    /// Control totals that don't balance, or a state that can't be.
    case inconsistent(String)
    /// A run, case or other thing that was asked for is not there.
    case notFound(String)

    public var description: String {
        switch self {
        case .databaseUnavailable(let text), .interrupted(let text),
            .databaseRefuses(let text), .noDatabase(let text), .schemaMismatch(let text),
            .appleUnavailable(let text), .anotherRun(let text), .configuration(let text),
            .inconsistent(let text), .notFound(let text):
            text
        }
    }
}
