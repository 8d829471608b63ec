package import Foundation
package import Ledger
package import Reconciliation

/// How often in a row a database may go away from the same work. A statement that brings the server down must not do so
/// all night.
package let mostReconnects = 3

/// Does a step of a night, and does it again, whole, if another session's lock was in its way or the database went away
/// meanwhile. So it has to be a step that may be done twice.
///
/// - Parameters:
///   - patience: seconds for which another session's lock is waited for; 0 to try only once.
///   - regain: gets back the session that was lost, for the reason given.
package func retrying<Value, Failure: Error>(
    patience: TimeInterval, regain: (String) async throws(Failure) -> Void, _ step: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
    var backoff = DatabaseBackoff(within: patience, pause: 0.1...0.5)
    var losses = 0
    var lost: String?
    while true {
        do {
            if let why = lost { try await regain(why) }
            lost = nil
            return try await step()
        } catch {
            switch error as? LedgerError {
            case .conflict:
                guard await backoff.mayTryAgain() else { throw error }
            case .connectionLost(let why) where patience > 0 && losses < mostReconnects && lost == nil:
                losses += 1
                lost = why
            default: throw error
            }
        }
    }
}

/// Does again what another session's lock was in the way of, each time a little later, for so many seconds.
package func retryingConflicts<Value>(
    for seconds: TimeInterval = 10, _ body: () async throws(LedgerError) -> Value
) async throws(LedgerError) -> Value {
    var backoff = DatabaseBackoff(within: seconds, pause: 0...0.1, growingTo: 2)
    while true {
        do {
            return try await body()
        } catch {
            guard case .conflict = error, await backoff.mayTryAgain() else { throw error }
        }
    }
}

extension LedgerSession {
    /// The error, with whose locks stayed in the way, if the session can still say so.
    package func naming(_ error: LedgerError) async -> LedgerError {
        guard case .conflict(let why) = error, let holders = try? await holdersOfRows() else { return error }
        return .conflict(why + holders.heldBy)
    }

    /// Connects again, trying for that many seconds.
    package func reconnect(within seconds: TimeInterval) async throws(LedgerError) {
        var backoff = DatabaseBackoff(within: seconds, pause: 1...1)
        while true {
            do {
                return try await reconnect()
            } catch .connectionLost(let why) {
                guard await backoff.mayTryAgain() else { throw .connectionLost(why) }
            }
        }
    }
}

extension LedgerSession {
    /// Takes a batch, and takes it again if another session was in the way, or on a new connection if the old one was
    /// lost: what was committed meanwhile is then there already.
    package func retryingImport<Value>(
        _ kind: ImportKind, settings: JobSettings, log: (LogEntry) -> Void,
        _ body: () async throws(LedgerError) -> Value
    ) async throws(LedgerError) -> Value {
        try await retrying(
            patience: settings.conflictPatience,
            regain: { why async throws(LedgerError) in
                log(.lostDatabase(why))
                try await reconnect(within: settings.patience)
                try await prepareImport(of: kind)
            },
            body)
    }
}
