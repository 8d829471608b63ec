import Dispatch
import Foundation
import Job
import Reconciliation
import Synchronization

/// Turns SIGTERM and SIGINT into a stop in good order; the second ends the program at once.
final class Signals {
    private let sources: [any DispatchSourceSignal]

    init(_ stop: StopSignal) {
        // A reader that went away shows as an error of the write.
        signal(SIGPIPE, SIG_IGN)
        // So does a file that may not grow any more.
        signal(SIGXFSZ, SIG_IGN)
        sources = [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")].map { number, name in
            // Else the signal would end the program before the source hears of it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                // Nothing is flushed or rolled back: PostgreSQL does that when the connection ends.
                if stop.isRequested { _exit(ExitCode.tryLater.rawValue) }
                stop.request("The run was asked to stop (\(name)).")
            }
            source.activate()
            return source
        }
    }

    deinit {
        for source in sources { source.cancel() }
    }
}
