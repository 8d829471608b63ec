import Synchronization

/// A number that only grows, and those who wait for it to reach another.
public final class RisingCount: Sendable {
    private struct State {
        var count = 0
        var waiters: [(threshold: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    public init() {}

    public var count: Int { state.withLock { $0.count } }

    public func increment() {
        let reached = state.withLock { state in
            state.count += 1
            let reached = state.waiters.filter { [count = state.count] in $0.threshold <= count }
            state.waiters.removeAll { [count = state.count] in $0.threshold <= count }
            return reached
        }
        for waiter in reached { waiter.continuation.resume() }
    }

    public func reach(_ threshold: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.count < threshold { state.waiters.append((threshold, continuation)) }
                return state.count >= threshold
            }
            if isReached { continuation.resume() }
        }
    }
}
