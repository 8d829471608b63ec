import Synchronization

/// What tasks hand to the thread of the transfer loop.
final class Mailbox: Sendable {
    struct Letters: Sendable {
        var submitted: [Job] = []
        var cancelled: [UInt64] = []
        var isClosing = false
    }

    private struct State {
        var letters = Letters()
        /// Whether the loop has been woken and has not collected yet.
        var isAwake = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let multi: MultiHandle

    init(_ multi: MultiHandle) {
        self.multi = multi
    }

    /// Hands in a job, or ends it as cancelled if the client is closed.
    func submit(_ job: Job) {
        let isClosed = state.withLock { state in
            if state.letters.isClosing { return true }
            state.letters.submitted.append(job)
            wake(&state)
            return false
        }
        if isClosed { job.end(.failure(.cancelled)) }
    }

    /// Cancels a job. Does nothing if it has ended meanwhile.
    func cancel(_ identifier: UInt64) {
        state.withLock { state in
            guard !state.letters.isClosing else { return }
            state.letters.cancelled.append(identifier)
            wake(&state)
        }
    }

    func close() {
        state.withLock { state in
            guard !state.letters.isClosing else { return }
            state.letters.isClosing = true
            wake(&state)
        }
    }

    /// Wakes the loop, once for each batch of letters: waking costs a system call.
    private func wake(_ state: inout State) {
        guard !state.isAwake, !state.hasEnded else { return }
        state.isAwake = true
        multi.wake()
    }

    /// Returns everything that came since the last time. Only the loop calls this.
    func collect() -> Letters {
        state.withLock { state in
            let letters = state.letters
            state.letters = Letters(isClosing: letters.isClosing)
            state.isAwake = false
            return letters
        }
    }

    /// Stops all waking. The loop calls this once it no longer uses the multi handle.
    func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}
