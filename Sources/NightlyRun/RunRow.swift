import Foundation
import Job
import Ledger
import Reconciliation

/// The row of a run that is under way, and the session whose lock is its sign of life.
struct RunRow {
    let job: NightlyJob
    let session: LedgerSession
    let runID: Int64
    let present: Present
    let isDryRun: Bool

    /// Does a step of the night on the run's own session, again if another session is in the way. If the session was
    /// lost, while the workers worked or earlier, it reconnects and takes the night's locks again.
    func step<Value>(_ body: () async throws -> Value) async throws -> Value {
        // A dry run's shadows exist only once.
        try await retrying(patience: isDryRun ? 0 : job.settings.patience, regain: regain, body)
    }

    private func regain(_ why: String) async throws {
        job.log(.lostDatabase(why, runID: runID))
        try await session.reconnect(within: job.settings.patience)
        let isOurs = try await session.tryLock(.night(isShared: job.settings.workers == .shared))
        guard isOurs, try await session.tryLock(.run(runID)) else {
            throw JobError.anotherRun("The database was lost for a while, and another run took the night.")
        }
        try await session.findAgain(runID)
    }

    /// Does what follows the row. If that fails, the row says why, if the database can still be told.
    ///
    /// - Throws: what the body throws; `JobError.interrupted` for a database that went away or a lock that stayed,
    ///   since something may be booked.
    func carryOut<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            let error = await explained(error)
            await fail(error)
            throw error
        }
    }

    private func explained(_ error: any Error) async -> any Error {
        guard let error = error as? LedgerError else { return error }
        let named = await session.naming(error)
        return JobError(interruptedBy: named) ?? named
    }

    private func fail(_ error: any Error) async {
        if case .appleUnavailable = error as? JobError { return }
        let ending = Ending((error as? LedgerError).map { JobError($0) } ?? error)
        let end = RunEnd.failed(ending.exitCode, ending.publicText)
        do {
            try await session.end(runID, as: end, at: present.clock)
        } catch .connectionLost where !isDryRun {
            // The database may be there again, or it ended this session alone. If it is not, the next run sees that the
            // row's session is gone, and ends the row.
            try? await session.reconnect()
            try? await session.end(runID, as: end, at: present.clock)
        } catch {
            // The caller throws what the run failed of, which tells more than that its row could not say so.
        }
    }
}
