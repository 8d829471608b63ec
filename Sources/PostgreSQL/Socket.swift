import Dispatch
import Foundation
import Synchronization

/// Waits until a connection's socket can be read or written, without holding a thread, and no longer than its patience.
final class Socket {
    /// In seconds; `nil` for no limit.
    let patience: TimeInterval?
    private let descriptor: Int32
    private let waiter = Waiter()
    private let reading: Readiness
    private let writing: Readiness
    private let clock: any DispatchSourceTimer

    /// - Throws: a connection error if the program has too many files open.
    init(_ descriptor: Int32, patience: TimeInterval?) throws(PostgreSQLError) {
        // Each source has its own duplicate, so that libpq may close the socket before a source has finished.
        let first = try Self.duplicate(descriptor)
        let second: Int32
        do {
            second = try Self.duplicate(descriptor)
        } catch {
            _ = Foundation.close(first)
            throw error
        }
        self.descriptor = descriptor
        self.patience = patience
        let queue = DispatchQueue(label: "PostgreSQL.Socket")
        let reader = DispatchSource.makeReadSource(fileDescriptor: first, queue: queue)
        let writer = DispatchSource.makeWriteSource(fileDescriptor: second, queue: queue)
        reading = Readiness(reader, first, waiter)
        writing = Readiness(writer, second, waiter)
        clock = Self.clock(patience, queue, waiter)
    }

    /// Runs one clock for all waits: a timer for each would cost more than the wait.
    private static func clock(
        _ patience: TimeInterval?, _ queue: DispatchQueue, _ waiter: Waiter
    ) -> any DispatchSourceTimer {
        let clock = DispatchSource.makeTimerSource(queue: queue)
        if let patience {
            clock.setEventHandler { waiter.giveUp(after: patience) }
            clock.schedule(deadline: .now() + patience / 8, repeating: patience / 8, leeway: .milliseconds(100))
        }
        clock.activate()
        return clock
    }

    /// Returns false if the patience ended first.
    func waitUntilReadable() async -> Bool {
        if isReady(POLLIN) { return true }
        return await withCheckedContinuation { continuation in
            waiter.begin(continuation)
            reading.wake()
        }
    }

    /// Waits for either. A server that waits for its own output to be read does not read ours. Returns false if the
    /// patience ended first.
    func waitUntilReadableOrWritable() async -> Bool {
        if isReady(POLLIN | POLLOUT) { return true }
        return await withCheckedContinuation { continuation in
            waiter.begin(continuation)
            reading.wake()
            writing.wake()
        }
    }

    /// Duplicates a descriptor so that child programs do not inherit it.
    private static func duplicate(_ descriptor: Int32) throws(PostgreSQLError) -> Int32 {
        let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard duplicate >= 0 else {
            throw PostgreSQLError(.connection, "its socket can't be waited for: \(String(cString: strerror(errno)))")
        }
        return duplicate
    }

    func close() {
        clock.cancel()
        reading.cancel()
        writing.cancel()
    }

    private func isReady(_ events: Int32) -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return Foundation.poll(&poll, 1, 0) > 0
    }
}

/// A dispatch source that is active only while somebody waits for it; otherwise it would fire endlessly.
private final class Readiness {
    private let source: any DispatchSourceProtocol
    private let isAwake: Flag

    init(_ source: any DispatchSourceProtocol, _ descriptor: Int32, _ waiter: Waiter) {
        let isAwake = Flag()
        self.source = source
        self.isAwake = isAwake
        // When it is cancelled, the source releases its handlers, and so itself.
        source.setEventHandler {
            isAwake.lower { source.suspend() }
            waiter.resume()
        }
        source.setCancelHandler { _ = Foundation.close(descriptor) }
    }

    func wake() { isAwake.raise { source.resume() } }

    /// Cancels the source, which must be resumed for that.
    func cancel() {
        source.cancel()
        wake()
    }
}

/// Whether a source is resumed: resuming or suspending it twice would be an error.
private final class Flag: Sendable {
    private let isRaised = Mutex(false)

    func raise(_ action: () -> Void) {
        isRaised.withLock { isRaised in
            if !isRaised { action() }
            isRaised = true
        }
    }

    func lower(_ action: () -> Void) {
        isRaised.withLock { isRaised in
            if isRaised { action() }
            isRaised = false
        }
    }
}

/// The one task that waits. A late event of an earlier wait may wake it for nothing; it then asks libpq again.
private final class Waiter: Sendable {
    private struct Wait {
        let continuation: CheckedContinuation<Bool, Never>
        let since = ContinuousClock.now
    }

    private let wait = Mutex<Wait?>(nil)

    func begin(_ continuation: CheckedContinuation<Bool, Never>) {
        wait.withLock { $0 = Wait(continuation: continuation) }
    }

    func resume() { end(true) { _ in true } }

    func giveUp(after seconds: TimeInterval) {
        end(false) { ContinuousClock.now - $0.since >= .seconds(seconds) }
    }

    private func end(_ isReady: Bool, where isDue: (Wait) -> Bool) {
        let ended = wait.withLock { wait -> Wait? in
            guard let waiting = wait, isDue(waiting) else { return nil }
            wait = nil
            return waiting
        }
        ended?.continuation.resume(returning: isReady)
    }
}
