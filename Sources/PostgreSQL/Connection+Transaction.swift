import CPostgreSQL

extension Connection {
    /// Runs the body in a transaction, which is committed if it returns and rolled back if it throws. A rehearsal is
    /// always rolled back, and returns the body's result.
    ///
    /// Cancellation ends the body's statements; it never ends the commit or the rollback.
    @discardableResult
    public func transaction<Value>(
        _ isolation: Isolation = .readCommitted, readOnly: Bool = false, isRehearsal: Bool = false,
        _ body: () async throws -> Value
    ) async throws(TransactionError) -> Value {
        try await begin(isolation, readOnly)
        let value: Value
        do {
            value = try await body()
        } catch {
            throw .body(error, rollback: await rollback())
        }
        if isRehearsal {
            if let error = await rollback() { throw .rollback(error) }
        } else {
            try await commit()
        }
        return value
    }

    /// Whether a transaction is open on this session, failed or not.
    public var isInTransaction: Bool {
        guard let handle = session.handle else { return false }
        return [PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus(handle))
    }

    private func begin(_ isolation: Isolation, _ readOnly: Bool) async throws(TransactionError) {
        guard !isInTransaction else {
            throw .begin(PostgreSQLError(.usage, "A transaction is open already; transactions don't nest."))
        }
        do {
            _ = try await execute(
                "BEGIN ISOLATION LEVEL \(unsafe: isolation.sql)\(unsafe: readOnly ? " READ ONLY" : "")")
        } catch {
            throw .begin(error)
        }
    }

    private func commit() async throws(TransactionError) {
        let tag: String
        do {
            tag = try await end("COMMIT")
        } catch {
            throw .commit(error)
        }
        // The server answers a commit of a failed transaction with a rollback, and reports success.
        guard tag == "COMMIT" else {
            throw .commit(
                PostgreSQLError(.usage, "A statement had failed in the transaction, so the server rolled it back."))
        }
    }

    private func rollback() async -> PostgreSQLError? {
        do {
            _ = try await end("ROLLBACK")
            return nil
        } catch {
            return error
        }
    }

    /// Runs the last statement of a transaction to its end, whether or not the task was cancelled.
    private func end(_ sql: String) async throws(PostgreSQLError) -> String {
        var tag = ""
        try await session.send { PQsendQuery($0, sql) }
        try await session.finish { tag = $0.commandTag }
        return tag
    }
}
