public import Reconciliation

/// Why the ledger could not do what it was asked. Nothing of a receipt, a user or a secret is in it.
public enum LedgerError: Error, Sendable, CustomStringConvertible {
    /// The connection's settings can't be as they are, such as a service that no file knows.
    case unusableSettings(String)
    /// PostgreSQL can't be reached, or the connection is gone. What was not committed is not there.
    case connectionLost(String)
    /// PostgreSQL refuses the password or the role.
    case refused(String)
    /// A worker of a cluster does not let the coordinator in as a role; the text names both.
    case refusedByWorker(String)
    /// The role lacks a right: a grant is missing, or it is another role than the one that may.
    case forbidden(String)
    /// The server has no database of the name that was given.
    case noDatabase(String)
    /// A lock was not to be had, or PostgreSQL chose this transaction to end a deadlock: try it again.
    case conflict(String)
    /// The schema is missing, older or newer than this program needs; the text says what to do.
    case schema(String)
    /// The statement was cancelled on request, or the task was.
    case cancelled
    /// PostgreSQL does not take a value that it was given: one too long, too great, or against a constraint.
    case unfit(String)
    /// PostgreSQL stopped the statement: it took too long, or an administrator cancelled it. It had no effect.
    case statementStopped(String)
    /// PostgreSQL has no disk, memory or locks left for the statement, which had no effect.
    case exhausted(String)
    /// The database has no row of the run any more: it went back to a moment before that began.
    case forgottenRun(String)
    /// The control totals don't balance.
    case unbalanced([Imbalance])
    /// Something does not hold that always must.
    case violated([IntegrityFinding])
    /// Anything else PostgreSQL said.
    case failed(String)

    public var description: String {
        switch self {
        case .unusableSettings(let text), .connectionLost(let text), .refused(let text),
            .refusedByWorker(let text), .forbidden(let text), .noDatabase(let text), .conflict(let text),
            .schema(let text), .unfit(let text), .statementStopped(let text), .exhausted(let text),
            .forgottenRun(let text), .failed(let text):
            text
        case .cancelled: "cancelled"
        case .violated(let findings): findings.map(\.description).joined(separator: "; ")
        case .unbalanced(let imbalances): imbalances.map(\.description).joined(separator: "; ")
        }
    }
}
