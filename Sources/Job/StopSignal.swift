import Synchronization

/// Asks a run to stop in good order: it finishes or rolls back the batch in hand, writes what is known, and ends
/// with code 75. Anyone may ask, from any thread.
public final class StopSignal: Sendable {
    private struct State {
        var reason: String?
        var next = 0
        var handlers: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Asks the run to stop, for the reason given in a sentence; the first reason stays.
    public func request(_ why: String) {
        let handlers = state.withLock { state -> [@Sendable () -> Void] in
            guard state.reason == nil else { return [] }
            state.reason = why
            return Array(state.handlers.values)
        }
        for handler in handlers { handler() }
    }

    /// Why the run was asked to stop; `nil` if it was not.
    public var reason: String? { state.withLock { $0.reason } }

    public var isRequested: Bool { reason != nil }

    /// Runs the body in a task that is cancelled when the stop is asked for; the body then ends soon, with what it
    /// has.
    package func cancelling<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
        let task = Task { await body() }
        return await telling({ task.cancel() }) {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Runs the body, and calls the handler if the stop is asked for meanwhile, from whatever thread asks, or was asked
    /// for before.
    package func telling<Value>(
        _ handler: @escaping @Sendable () -> Void, _ body: () async throws -> Value
    ) async rethrows -> Value {
        let number = add(handler)
        defer { state.withLock { _ = $0.handlers.removeValue(forKey: number) } }
        if isRequested { handler() }
        return try await body()
    }

    private func add(_ handler: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.next += 1
            state.handlers[state.next] = handler
            return state.next
        }
    }
}
