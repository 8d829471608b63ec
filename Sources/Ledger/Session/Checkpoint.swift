#if CHAOS
    import Foundation
    import Synchronization
#endif

/// A named moment of a night, at each stage and around each commit. In a build for chaos runs (`-D CHAOS`) the program
/// can be told to get a signal there; in any other build nothing happens.
package enum Checkpoint: String, CaseIterable, Sendable {
    // Before the first receipt.
    case connected, nightTaken
    // For each source, and each page of it.
    case sourceOpened, sourceStored, sourcePageTaken, sourceEnded
    // For each day whose sales report was asked for.
    case salesFetched
    // For each batch of notices, and each app that was heard.
    case noticesTaken, noticesCommitting, appHeard
    // For each batch of answers about what was sold before, and each app.
    case answersTaken, answersCommitting, appAsked
    case runBegun
    // For each bucket and batch.
    case bucketOwned, batchFetched, batchVerified
    case transactionsStaged, transactionsMerged, receiptsSettled, recordCommitting, recordCommitted
    // The end of a night.
    case inboxDone, casesAssessed, casesStored, casesClosed
    case booksCommitting, booksClosed, headKept
    case reportBegun, reportPublished, runEnding, runEnded
}

#if CHAOS
    /// Counts the passage, and sends the signal that the environment asks for.
    package func checkpoint(_ place: Checkpoint) {
        Passages.ofThisProcess.pass(place)
    }

    /// Which checkpoints were passed, and what the environment asks for: `IAP_CHECKPOINT=any:57:9:1500` sends signal 9
    /// to this process 1,500 µs after the 57th passage of any checkpoint; a checkpoint's name counts that one's alone.
    /// `IAP_CHECKPOINTS=FILE` writes down each passage.
    private final class Passages: Sendable {
        private struct Order {
            let place: Checkpoint?
            let passage: Int
            let signal: Int32
            let microseconds: UInt32
        }

        static let ofThisProcess = Passages(ProcessInfo.processInfo.environment)
        private let order: Order?
        private let log: Int32
        private let passed = Mutex(0)

        private init(_ environment: [String: String]) {
            let words = environment["IAP_CHECKPOINT"]?.split(separator: ":").map(String.init) ?? []
            let numbers = words.dropFirst().compactMap { Int($0) }
            order =
                numbers.count == 3
                ? Order(
                    place: Checkpoint(rawValue: words[0]), passage: numbers[0], signal: Int32(numbers[1]),
                    microseconds: UInt32(numbers[2]))
                : nil
            log =
                environment["IAP_CHECKPOINTS"].map { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640) } ?? -1
        }

        func pass(_ place: Checkpoint) {
            if log >= 0 { _ = "\(place.rawValue)\n".withCString { write(log, $0, strlen($0)) } }
            guard let order, order.place == nil || order.place == place else { return }
            let isDue = passed.withLock { passed in
                passed += 1
                return passed == order.passage
            }
            guard isDue else { return }
            guard order.microseconds > 0 else { return send(order) }
            Thread.detachNewThread { [self] in
                usleep(order.microseconds)
                send(order)
            }
        }

        private func send(_ order: Order) {
            kill(getpid(), order.signal)
        }
    }
#else
    /// Does nothing.
    @inline(__always) package func checkpoint(_ place: Checkpoint) {}
#endif
