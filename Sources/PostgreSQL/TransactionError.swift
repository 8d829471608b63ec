/// At which step a transaction failed. The steps are kept apart, so that a failed rollback never hides why it was
/// rolled back.
public enum TransactionError: Error, Sendable {
    /// The transaction never began.
    case begin(PostgreSQLError)
    /// The work in it failed. It was rolled back; if `rollback` is set, the server will roll it back.
    case body(any Error, rollback: PostgreSQLError?)
    /// The commit failed.
    case commit(PostgreSQLError)

    /// The rollback of a rehearsal failed; if the session is gone, the server rolls back.
    case rollback(PostgreSQLError)

    /// Whether the server may have committed without its answer arriving: the session was lost in the commit.
    public var isOutcomeUnknown: Bool {
        guard case .commit(let error) = self else { return false }
        return error.isConnectionLost
    }

    /// The first error that PostgreSQL gave, at whichever step; `nil` if the work failed for a reason of its own.
    public var databaseError: PostgreSQLError? {
        switch self {
        case .begin(let error), .commit(let error), .rollback(let error): error
        case .body(let error, _): error as? PostgreSQLError
        }
    }
}

extension TransactionError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .begin(let error): "The transaction could not begin. \(error)"
        case .body(let error, rollback: nil): "The transaction was rolled back. \(error)"
        case .body(let error, .some(let rollback)):
            "The transaction failed. \(error) Its rollback failed too. \(rollback)"
        case .commit(let error) where isOutcomeUnknown:
            "The session was lost in the commit; whether it took effect is unknown. \(error)"
        case .commit(let error): "The transaction could not be committed. \(error)"
        case .rollback(let error): "The transaction could not be rolled back. \(error)"
        }
    }
}

/// How far a transaction is isolated from others that run at the same time.
public enum Isolation: Sendable {
    /// Each statement sees what was committed before it.
    case readCommitted
    /// All statements see what was committed before the first; changing what another transaction changed meanwhile
    /// fails.
    case repeatableRead
    /// As if the transactions ran one after another; a transaction that can't be put in such an order fails.
    case serializable

    var sql: String {
        switch self {
        case .readCommitted: "READ COMMITTED"
        case .repeatableRead: "REPEATABLE READ"
        case .serializable: "SERIALIZABLE"
        }
    }
}
