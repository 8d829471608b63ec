import Dispatch
import Synchronization

/// Writes one part of a report beside the others, and beside the reading of the findings: the forms of a case take
/// several times as long to write as the database takes to return it.
///
/// Adding a page blocks the thread while the part is far behind, and so does waiting for the end, even a thread of the
/// concurrency runtime. That is safe: the queue gets a thread of Dispatch's own, whose work waits for no task, so it
/// always ends. Only a run's report adds pages, one at a time, so only one thread is blocked. To suspend instead, each
/// of a hundred thousand findings would need an async call.
final class PartWriter: Sendable {
    /// The most pages that wait; their findings are held in memory.
    private static let mostWaiting = 2

    private let part: Mutex<any ReportPart>
    /// The error after which nothing more is written.
    private let failure = Mutex<(any Error)?>(nil)
    private let queue = DispatchQueue(label: "report part")
    private let room = DispatchSemaphore(value: mostWaiting)

    init(_ part: sending any ReportPart) {
        self.part = Mutex(part)
    }

    /// Takes a page of findings; pages keep the order in which they are added. Waits while the part is far behind.
    ///
    /// - Throws: the error with which an earlier page failed.
    func add(_ page: [Finding]) throws {
        try throwFailure()
        room.wait()
        queue.async { [self] in
            perform { part in for finding in page { try part.add(finding) } }
            room.signal()
        }
    }

    /// Begins to put everything on the disk, as nothing more comes.
    func finish() {
        queue.async { [self] in perform { part in try part.finish() } }
    }

    /// Waits until everything that was asked for is done.
    ///
    /// - Throws: the error with which it failed.
    func wait() throws {
        queue.sync {}
        try throwFailure()
    }

    private func perform(_ work: (any ReportPart) throws -> Void) {
        guard failure.withLock({ $0 }) == nil else { return }
        do {
            try part.withLock { part in try work(part) }
        } catch {
            failure.withLock { $0 = error }
        }
    }

    private func throwFailure() throws {
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
