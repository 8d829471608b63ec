import CPostgreSQL

/// The course of one statement: it is sent, each result is waited for, and the session is left ready for the next.
extension Session {
    /// Runs an exchange, which ends early if the task is cancelled.
    func cancellably<Value>(
        _ exchange: () async throws(PostgreSQLError) -> Value
    ) async throws(PostgreSQLError) -> Value {
        guard !Task.isCancelled, canceller.begin() else { throw .cancelled }
        let canceller = canceller
        let outcome = await withTaskCancellationHandler {
            await Outcome(exchange)
        } onCancel: {
            canceller.request()
        }
        await canceller.end()
        switch outcome {
        case .value(let value): return value
        case .error(let error): throw canceller.isRequested && error.sqlState == .queryCanceled ? .cancelled : error
        }
    }

    /// Returns libpq's handle if the session is still open.
    func open() throws(PostgreSQLError) -> OpaquePointer {
        guard let handle else { throw PostgreSQLError(.connection, "The session is closed.") }
        return handle
    }

    /// Sends what a `PQsend…` call has queued.
    func send(_ queue: (OpaquePointer) -> Int32) async throws(PostgreSQLError) {
        let handle = try open()
        guard queue(handle) == 1 else { throw PostgreSQLError(failed: handle) }
        try await flush()
    }

    /// Waits until the socket has taken all that libpq holds, which keeps `COPY` from piling up in memory.
    func flush() async throws(PostgreSQLError) {
        let handle = try open()
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1: guard await socket.waitUntilReadableOrWritable() else { throw giveUp() }
            default: throw PostgreSQLError(failed: handle)
            }
            guard PQconsumeInput(handle) == 1 else { throw PostgreSQLError(failed: handle) }
        }
    }

    /// Returns the next result of the statement; `nil` after the last.
    func nextResult() async throws(PostgreSQLError) -> QueryResult? {
        let handle = try open()
        while PQisBusy(handle) == 1 {
            guard await socket.waitUntilReadable() else { throw giveUp() }
            // A failure is not the end yet: libpq turns it into a last result, after those that did arrive.
            guard PQconsumeInput(handle) == 1 || PQisBusy(handle) == 0 else { throw PostgreSQLError(failed: handle) }
        }
        return PQgetResult(handle).map { QueryResult($0) }
    }

    /// Ends the session, as a later answer would belong to something long given up.
    private func giveUp() -> PostgreSQLError {
        close()
        let seconds = Int(socket.patience.map { $0.rounded() } ?? 0)
        return PostgreSQLError(.connection, "The server did not say a word for \(seconds) seconds.")
    }

    /// Reads all results to the end, so that the session is ready again, and throws the first failure.
    func finish(_ each: (borrowing QueryResult) -> Void = { _ in }) async throws(PostgreSQLError) {
        var failure: PostgreSQLError?
        while let result = try await nextResult() {
            guard !result.isCopy else { throw refuseCopy() }
            if let error = result.failure { failure = failure ?? error }
            if failure == nil { each(result) }
        }
        if let failure { throw failure }
    }

    /// Ends the session: a COPY that nobody feeds or reads has no other end.
    private func refuseCopy() -> PostgreSQLError {
        close()
        return PostgreSQLError(.usage, "COPY can't be run as a statement; the session is closed.", hint: "Use copyIn.")
    }
}

/// The outcome of an exchange, since the standard library's would lose the type of its error.
private enum Outcome<Value> {
    case value(Value)
    case error(PostgreSQLError)

    init(_ exchange: () async throws(PostgreSQLError) -> Value) async {
        do {
            self = .value(try await exchange())
        } catch {
            self = .error(error)
        }
    }
}

extension PostgreSQLError {
    static var cancelled: PostgreSQLError { PostgreSQLError(.cancelled, "The task was cancelled.") }

    /// The error of a call that libpq refuses: either the session is lost, or the call can't be made now.
    init(failed handle: OpaquePointer) {
        let isLost = PQstatus(handle) != CONNECTION_OK
        let message = Secrets.removed(
            from: String(cString: PQerrorMessage(handle)).split(whereSeparator: \.isWhitespace).joined(separator: " "),
            of: handle)
        self.init(isLost ? .connection : .usage, message)
    }
}
