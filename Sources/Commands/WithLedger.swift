import Job
import Ledger

/// The shape of every command: a session of the ledger for its work, closed in any case, and one mapping of what can go
/// wrong to what the program says of it.
///
/// - Parameters:
///   - isCurrent: whether the schema has to be that of this program.
///   - explained: what to say if the command knows more of a failure than the ledger; by default, that it works with
///     the rights of the job.
func withLedger<Value>(
    _ settings: LedgerSettings, isCurrent: Bool = true, explained: (LedgerError) -> JobError = asJob,
    _ body: (LedgerSession) async throws(LedgerError) -> Value
) async throws(JobError) -> Value {
    do {
        let session =
            isCurrent
            ? try await LedgerSession.connectToCurrentSchema(settings) : try await LedgerSession.connect(settings)
        defer { session.close() }
        return try await body(session)
    } catch {
        throw explained(error)
    }
}

/// As the other, for a command that also reads files, whose errors go on as they are.
func withLedger<Value>(
    readingFiles settings: LedgerSettings, explained: (LedgerError) -> JobError = asJob,
    _ body: (LedgerSession) async throws -> Value
) async throws -> Value {
    do {
        let session = try await LedgerSession.connectToCurrentSchema(settings)
        defer { session.close() }
        return try await body(session)
    } catch let error as LedgerError {
        throw explained(error)
    }
}

private func asJob(_ error: LedgerError) -> JobError { JobError(error, workingAs: .job) }
