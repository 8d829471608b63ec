import Dispatch
import Foundation
import Job
import Reconciliation
import Synchronization

/// Turns SIGTERM and SIGINT into a stop in good order; the second ends the program at once.
final class Signals {
    private let sources: [any DispatchSourceSignal]

    /// Returns when the signals are heard. One that comes before ends the program as it ends any other: Dispatch listens
    /// on a thread of its own some time after it is told to, and a signal that were ignored until then would be lost.
    init(_ stop: StopSignal) async {
        // A reader that went away shows as an error of the write.
        signal(SIGPIPE, SIG_IGN)
        // So does a file that may not grow any more.
        signal(SIGXFSZ, SIG_IGN)
        sources = [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")].map { number, name in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                // Nothing is flushed or rolled back: PostgreSQL does that when the connection ends.
                if stop.isRequested { _exit(ExitCode.tryLater.rawValue) }
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

    deinit {
        for source in sources { source.cancel() }
    }
}
