import CPostgreSQL
import Dispatch
import Synchronization

/// Asks the server to give up the current statement. libpq blocks while it asks, hence a queue of its own.
///
/// The server forgets a request that arrives before the statement, so it is repeated until the statement ends. A
/// statement counts as ended only when no request is under way, so that none can hit the next one.
final class Canceller: Sendable {
    private struct State {
        /// Counts statements, so that a late request can be recognised.
        var statement = 0
        var isRunning = false
        var isRequested = false
        /// Whether no further statement may begin.
        var isForGood = false
        var isUnderWay = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "PostgreSQL.Canceller")
    /// The address of libpq's `PGcancel`, which never changes and which any thread may use; 0 if there is none.
    private let address: Int

    init(_ connection: OpaquePointer) { address = Int(bitPattern: PQgetCancel(connection)) }

    deinit { PQfreeCancel(OpaquePointer(bitPattern: address)) }

    /// Begins a statement, unless none may begin any more. Returns whether it may.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isForGood else { return false }
            state.statement += 1
            state.isRunning = true
            state.isRequested = false
            return true
        }
    }

    /// Whether the current statement, or else the last one, was asked to end.
    var isRequested: Bool { state.withLock { $0.isRequested } }

    /// Asks, from any thread, that the current statement end.
    func request() {
        let statement = state.withLock { state -> Int? in
            guard state.isRunning, !state.isRequested else { return nil }
            state.isRequested = true
            return state.statement
        }
        if let statement { queue.async { self.send(statement) } }
    }

    /// Does the same, and refuses all further statements.
    func requestForGood() {
        state.withLock { $0.isForGood = true }
        request()
    }

    func end() async {
        await withCheckedContinuation { continuation in
            let isUnderWay = state.withLock { state -> Bool in
                state.isRunning = false
                if state.isUnderWay { state.waiter = continuation }
                return state.isUnderWay
            }
            if !isUnderWay { continuation.resume() }
        }
    }

    private func send(_ statement: Int) {
        guard enter(statement) else { return }
        var message = [CChar](repeating: 0, count: 256)
        _ = PQcancel(OpaquePointer(bitPattern: address), &message, Int32(message.count))
        leave()?.resume()
        queue.asyncAfter(deadline: .now() + .milliseconds(100)) { self.send(statement) }
    }

    private func enter(_ statement: Int) -> Bool {
        state.withLock { state in
            state.isUnderWay = state.isRunning && state.statement == statement
            return state.isUnderWay
        }
    }

    private func leave() -> CheckedContinuation<Void, Never>? {
        state.withLock { state in
            state.isUnderWay = false
            defer { state.waiter = nil }
            return state.waiter
        }
    }
}
