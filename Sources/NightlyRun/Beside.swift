import Foundation
import Job
import Ledger

/// A second connection of a run, for work beside what the run does over its own. It is opened when it is first asked
/// for, and does one thing at a time: a caller waits for one before asking for the next.
actor Beside {
    private let ledger: LedgerSettings
    /// Seconds for which the database, or another session's lock, is waited for.
    private let patience: TimeInterval
    private let log: @Sendable (LogEntry) -> Void
    private var session: LedgerSession?
    /// Callers that ask meanwhile wait for it, too.
    private var connecting: Task<Void, Never>?

    init(ledger: LedgerSettings, patience: TimeInterval, log: @escaping @Sendable (LogEntry) -> Void) {
        self.ledger = ledger
        self.patience = patience
        self.log = log
    }

    /// Whether there is a connection; there is none if it could not be had when it was first asked for.
    var isOpen: Bool {
        get async {
            let connecting = connecting ?? Task { await connect() }
            self.connecting = connecting
            await connecting.value
            return session != nil
        }
    }

    private func connect() async {
        do {
            session = try await LedgerSession.connect(ledger)
        } catch {
            // A server may have no connection to spare, and the night goes on without one.
            let isPassing = if case .connectionLost = error { true } else { false }
            log(
                LogEntry(
                    isPassing ? .info : .warning,
                    "no second connection to the database: one thing is done after the other",
                    fields: ["error": error.description]))
        }
    }

    /// Runs the body, and runs it again if the database went away or another session's lock was in its way. Gives `nil`
    /// if there is no connection.
    func run<Value: Sendable>(
        _ body: @Sendable (LedgerSession) async throws(LedgerError) -> Value
    ) async throws(LedgerError) -> Value? {
        guard await isOpen, let session else { return nil }
        return try await retrying(
            patience: patience,
            regain: { _ async throws(LedgerError) in try await session.reconnect(within: patience) }
        ) { () async throws(LedgerError) in
            try await body(session)
        }
    }
}
