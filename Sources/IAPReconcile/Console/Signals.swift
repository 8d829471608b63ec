import Dispatch
import Foundation
import Job
import Reconciliation
import Synchronization

/// Turns SIGTERM, SIGINT and SIGHUP into an orderly stop; a second signal ends the program at once.
final class Signals {
    /// Within this time a further signal counts as the same request: timeout(1) signals the program and then its group,
    /// and a terminal that is closed and its shell send one each.
    private static let oneRequest = Duration.seconds(1)

    private let sources: [any DispatchSourceSignal]

    /// Returns once the signals are handled. A signal before that ends the program as usual: Dispatch listens on a
    /// thread of its own some time after it is told to, and a signal ignored until then would be lost.
    init(_ stop: StopSignal) async {
        // A closed terminal, or a lost connection to it, must not end a run silently.
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
                // Nothing is flushed or rolled back: PostgreSQL rolls back when the connection ends.
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

    /// Whether the program was started with the signal ignored, as nohup does.
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
