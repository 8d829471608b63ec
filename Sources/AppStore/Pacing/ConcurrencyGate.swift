import HTTP
import Synchronization

/// Keeps the number of requests in flight within an adaptive limit; those beyond it wait in line.
final class ConcurrencyGate: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var limit: AdaptiveLimit
        var inFlight = 0
        var nextTicket: UInt64 = 0
        /// Those who wait, by their tickets.
        var line = WaitingLine<Waiter>()
        /// Tickets that were cancelled before they were in line.
        var cancelled: Set<UInt64> = []

        /// Takes out of the line as many as there is room for.
        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            while inFlight < limit.limit, let waiter = line.next() {
                inFlight += 1
                admitted.append(waiter)
            }
            return admitted
        }
    }

    private let state: Mutex<State>

    init(ceiling: Int) {
        state = Mutex(State(limit: AdaptiveLimit(ceiling: ceiling)))
    }

    /// The most requests that may be in flight now.
    var limit: Int { state.withLock { $0.limit.limit } }

    /// Runs the request as soon as there is room for it. Beside its result, the request returns what it showed of the
    /// server's load.
    func run<Result>(
        _ request: () async throws(CancellationError) -> (Result, AdaptiveLimit.Sign)
    ) async throws(CancellationError) -> Result {
        try await enter()
        let number = state.withLock { $0.limit.start() }
        do {
            let (result, sign) = try await request()
            leave(number, sign)
            return result
        } catch {
            leave(number, .other)
            throw error
        }
    }

    private func enter() async throws(CancellationError) {
        let ticket = state.withLock { state in
            defer { state.nextTicket += 1 }
            return state.nextTicket
        }
        defer { state.withLock { _ = $0.cancelled.remove(ticket) } }
        do {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { standInLine($0, ticket: ticket) }
            } onCancel: {
                cancel(ticket)
            }
        } catch {
            throw CancellationError()
        }
    }

    private func standInLine(_ waiter: Waiter, ticket: UInt64) {
        let admitted: [Waiter]? = state.withLock { state in
            if state.cancelled.contains(ticket) { return nil }
            state.line.append(waiter, identifier: ticket)
            return state.admit()
        }
        guard let admitted else { return waiter.resume(throwing: CancellationError()) }
        for waiter in admitted { waiter.resume() }
    }

    private func cancel(_ ticket: UInt64) {
        let waiter = state.withLock { state in
            state.cancelled.insert(ticket)
            return state.line.remove(ticket)
        }
        waiter?.resume(throwing: CancellationError())
    }

    private func leave(_ request: Int, _ sign: AdaptiveLimit.Sign) {
        let admitted = state.withLock { state in
            state.inFlight -= 1
            state.limit.end(request, sign)
            return state.admit()
        }
        for waiter in admitted { waiter.resume() }
    }
}
