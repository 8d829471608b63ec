import Dispatch
import Synchronization

/// Writes one part of a report beside the others, and beside whoever reads the findings: the forms of a case need a
/// multiple of what the database needs to hand it over.
///
/// Who hands over a page blocks its thread while a part is far behind, and so does who waits for the end, also where
/// that is a thread of the concurrency runtime's. It is safe: a queue of its own gets a thread of Dispatch's own, whose
/// work waits for no task, so that it always ends; and only a run's report hands over, one page at a time, so that one
/// thread is held. To suspend instead, each of a hundred thousand findings would be handed over by an async call.
final class PartWriter: Sendable {
    /// So many pages wait at most, whose findings are held in memory.
    private static let mostWaiting = 2

    private let part: Mutex<any ReportPart>
    /// Why nothing more is written.
    private let failure = Mutex<(any Error)?>(nil)
    private let queue = DispatchQueue(label: "report part")
    private let room = DispatchSemaphore(value: mostWaiting)

    init(_ part: sending any ReportPart) {
        self.part = Mutex(part)
    }

    /// Takes a page of findings, in the order in which pages are handed over. Waits while the part is far behind.
    ///
    /// - Throws: what an earlier page could not be written for.
    func add(_ page: [Finding]) throws {
        try throwFailure()
        room.wait()
        queue.async { [self] in
            perform { part in for finding in page { try part.add(finding) } }
            room.signal()
        }
    }

    /// Nothing more comes: begins to put everything on the disk.
    func finish() {
        queue.async { [self] in perform { part in try part.finish() } }
    }

    /// Waits until all that was asked for is done.
    ///
    /// - Throws: what it could not be done for.
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
