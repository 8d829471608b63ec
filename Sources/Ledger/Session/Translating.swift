import PostgreSQL

/// Runs the body and turns whatever PostgreSQL said into the error that callers decide on.
func translating<Result>(_ body: () async throws -> Result) async throws(LedgerError) -> Result {
    do {
        return try await body()
    } catch {
        throw LedgerError(translating: error)
    }
}

extension LedgerError {
    init(translating error: any Error) {
        switch error {
        case let error as LedgerError: self = error
        case let error as PostgreSQLError: self.init(error)
        case let error as TransactionError: self.init(error)
        case is CancellationError: self = .cancelled
        default: self = .failed(String(describing: error))
        }
    }

    private init(_ error: TransactionError) {
        switch error {
        case .begin(let cause), .commit(let cause), .rollback(let cause): self.init(cause)
        case .body(let cause, _): self.init(translating: cause)
        }
    }

    private init(_ error: PostgreSQLError) {
        let text = error.description
        switch error.code {
        case .settings: self = .unusableSettings(text)
        case .connection: self = Self.isRefusedByWorker(text) ? .refusedByWorker(text) : .connectionLost(text)
        case .authentication: self = .refused(text)
        case .cancelled: self = .cancelled
        case .server(let state):
            let worker = Self.worker(of: error.context)
            self.init(state, worker.map { "\(text) (on the worker \($0))" } ?? text)
        default: self = .failed(text)
        }
    }

    private init(_ state: SQLState, _ text: String) {
        switch state {
        case .deadlockDetected, .serializationFailure, .lockNotAvailable: self = .conflict(text)
        case .invalidPassword, .invalidAuthorization: self = .refused(text)
        case .insufficientPrivilege: self = .forbidden(text)
        case .undefinedDatabase: self = .noDatabase(text)
        case .undefinedTable, .undefinedFunction, .undefinedColumn, .invalidSchemaName:
            self = .schema("\(text); run “iap-reconcile migrate”")
        case .queryCanceled: self = .statementStopped(text)
        // The server was the primary until a moment ago, or is for reading only.
        case .readOnlyTransaction: self = .connectionLost("PostgreSQL takes no changes here: \(text)")
        // The server starts, stops or has no room for one more.
        case .cannotConnectNow, .tooManyConnections: self = .connectionLost(text)
        default:
            if state.isConnectionLost || Self.isLostWorker(state, text) {
                self = .connectionLost(text)
            } else if state.isAboutResources {
                self = .exhausted(text)
            } else {
                self = state.isAboutValue ? .unfit(text) : .failed(text)
            }
        }
    }
}
