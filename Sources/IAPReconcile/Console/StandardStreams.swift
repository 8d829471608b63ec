import Foundation
import Reconciliation
import Synchronization

enum StandardStreams {
    /// Gives each of standard input, output and error that is closed an empty one. Else the next file that is opened has
    /// its number, and what is written there as a result would end up in a connection or a report.
    static func openMissing() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
    }
}

/// Results. A reader that went away is no error of the job's; what cannot be written for any other reason, as on a full
/// disk, is told at the end: a result that was cut off would pass for a whole one.
enum StandardOutput {
    private enum State {
        case open, abandoned
        case failed(OutputError)
    }

    private static let state = Mutex(State.open)

    /// Why not all of what was written is there; `nil` where all of it is, or nobody reads it any more.
    static var failure: OutputError? {
        state.withLock { if case .failed(let why) = $0 { why } else { nil } }
    }

    static func write(_ text: String) { write(Data(text.utf8)) }

    /// After a failure nothing is written any more: a result with a hole in it is worse than one that ends early.
    static func write(_ data: Data) {
        state.withLock { state in
            guard case .open = state, let number = data.withUnsafeBytes(errorNumber(writing:)) else { return }
            state = number == EPIPE ? .abandoned : .failed(OutputError(number))
        }
    }

    /// The number of the error that keeps some of the bytes from being written.
    private static func errorNumber(writing bytes: UnsafeRawBufferPointer) -> Int32? {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = Foundation.write(STDOUT_FILENO, rest.baseAddress, rest.count)
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                // Another program that has it open, too, may have told it not to wait.
                var waiting = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}

/// What a command prints is not all there.
struct OutputError: ForeseenError {
    let description: String
    var exitCode: ExitCode { .noPermission }

    init(_ number: Int32) {
        description =
            "What this command prints can't be written to standard output: \(String(cString: strerror(number))). "
            + "What is there of it is not all of it."
    }
}

/// Logs, progress and complaints.
enum StandardError {
    static func write(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
