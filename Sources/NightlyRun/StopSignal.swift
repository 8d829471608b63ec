import Synchronization

/// Asks a run to stop in good order: it finishes or rolls back the batch in hand, writes what is known, and ends
/// with code 75. Anyone may ask, from any thread.
public final class StopSignal: Sendable {
    private let state = Mutex<(why: String?, handlers: [@Sendable () -> Void])>((nil, []))

    public init() {}

    /// Asks the run to stop, for the reason given in a sentence; the first reason stays.
    public func request(_ why: String) {
        let handlers = state.withLock { state -> [@Sendable () -> Void] in
            guard state.why == nil else { return [] }
            state.why = why
            defer { state.handlers = [] }
            return state.handlers
        }
        for handler in handlers { handler() }
    }

    /// Why the run was asked to stop; nothing while it was not.
    public var reason: String? { state.withLock { $0.why } }

    public var isRequested: Bool { reason != nil }

    /// Runs the handler when the stop is asked for, at once if it already was.
    func onRequest(_ handler: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state -> Bool in
            if state.why == nil { state.handlers.append(handler) }
            return state.why != nil
        }
        if isLate { handler() }
    }
}
