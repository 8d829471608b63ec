import Dispatch
import Foundation
import Job
import Reconciliation
import Synchronization

/// Turns SIGTERM, SIGINT and SIGHUP into a stop in good order; another one ends the program at once.
final class Signals {
    /// Within this time another signal asks for the same: timeout(1) sends its signal to the program and then to its
    /// group, and a terminal that is closed and its shell send one each.
    private static let oneRequest = Duration.seconds(1)

    private let sources: [any DispatchSourceSignal]

    /// Returns when the signals are heard. One that comes before ends the program as it ends any other: Dispatch listens
    /// on a thread of its own some time after it is told to, and a signal that were ignored until then would be lost.
    init(_ stop: StopSignal) async {
        // A reader that went away shows as an error of the write.
        signal(SIGPIPE, SIG_IGN)
        // So does a file that may not grow any more.
        signal(SIGXFSZ, SIG_IGN)
        // A terminal that is closed, or a connection to it that is lost, ends no run without a word.
        let hangUp = Self.isIgnored(SIGHUP) ? [] : [(SIGHUP, "SIGHUP")]
        let first = Mutex<ContinuousClock.Instant?>(nil)
        sources = ([(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")] + hangUp).map { number, name in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                let now = ContinuousClock.now
                let asked = first.withLock { first in
                    first = first ?? now
                    return first ?? now
                }
                // Nothing is flushed or rolled back: PostgreSQL does that when the connection ends.
                if now - asked > Self.oneRequest { _exit(ExitCode.tryLater.rawValue) }
                stop.request("The run was asked to stop (\(name)).")
            }
            return source
        }
        for source in sources {
            await withCheckedContinuation { continuation in
                source.setRegistrationHandler { continuation.resume() }
                source.activate()
            }
        }
    }

    /// Whoever started the program may have it ignored, as nohup has.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        let ignoring: __sighandler_t? = SIG_IGN
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(ignoring, to: Int.self)
    }

    deinit {
        for source in sources { source.cancel() }
    }
}
