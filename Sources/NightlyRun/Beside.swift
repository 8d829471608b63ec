import Foundation
import Job
import Ledger

/// A second connection of a run's, opened when it is first asked for: for what is done beside what the run does over its
/// own. One thing at a time: whoever asks waits for that before asking for the next.
actor Beside {
    private let ledger: LedgerSettings
    /// Seconds for which the database, or another session's lock, is waited for.
    private let patience: TimeInterval
    private var session: LedgerSession?
    private var isRefused = false

    init(ledger: LedgerSettings, patience: TimeInterval) {
        self.ledger = ledger
        self.patience = patience
    }

    /// Whether there is a connection; there is none where the server had none free when it was first asked for.
    var isOpen: Bool {
        get async {
            guard session == nil, !isRefused else { return session != nil }
            session = try? await LedgerSession.connect(ledger)
            isRefused = session == nil
            return session != nil
        }
    }

    /// Runs the body, and runs it again where the database went away or another session's lock was in its way; gives
    /// `nil` where there is no connection.
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
