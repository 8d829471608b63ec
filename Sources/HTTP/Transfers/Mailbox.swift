import Synchronization

/// What tasks leave for the thread of the transfer loop.
final class Mailbox: Sendable {
    struct Letters: Sendable {
        var submitted: [Job] = []
        var cancelled: [UInt64] = []
        var isClosing = false
    }

    private struct State {
        var letters = Letters()
        /// The loop has been woken and has not collected yet.
        var isAwake = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let multi: MultiHandle

    init(_ multi: MultiHandle) {
        self.multi = multi
    }

    /// Ends the job as cancelled if the client is closed.
    func submit(_ job: Job) {
        let isClosed = state.withLock { state in
            if state.letters.isClosing { return true }
            state.letters.submitted.append(job)
            wake(&state)
            return false
        }
        if isClosed { job.end(.failure(.cancelled)) }
    }

    /// Nothing happens if the job has ended meanwhile.
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

    /// Once per batch of letters: waking costs a system call.
    private func wake(_ state: inout State) {
        guard !state.isAwake, !state.hasEnded else { return }
        state.isAwake = true
        multi.wake()
    }

    /// For the loop: everything that came since the last time.
    func collect() -> Letters {
        state.withLock { state in
            let letters = state.letters
            state.letters = Letters(isClosing: letters.isClosing)
            state.isAwake = false
            return letters
        }
    }

    /// For the loop, once it uses the multi handle no more; from here on nobody wakes it.
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
