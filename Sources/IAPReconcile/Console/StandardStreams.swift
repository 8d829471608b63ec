import Files
import Foundation
import Reconciliation
import Synchronization

enum StandardStreams {
    /// Opens an empty stream for each of standard input, output and error that is closed. Otherwise the next file that
    /// is opened would get its number, and results would be written to a connection or a report.
    static func openMissing() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Makes a reader that went away, and a file that has reached its size limit, an error of the write. Otherwise they
    /// would end the program, whose exit code then says nothing of what it found.
    static func failByError() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }
}

/// Standard output, for results. It is no error of the job's if the reader goes away. Any other failure, such as a full
/// disk, is told at the end: a result that was cut off would pass for a complete one.
enum StandardOutput {
    private enum State {
        case open, abandoned
        case failed(OutputError)
    }

    private static let state = Mutex(State.open)

    /// Why the output is incomplete; `nil` if it is complete, or nobody reads it any more.
    static var failure: OutputError? {
        state.withLock { if case .failed(let why) = $0 { why } else { nil } }
    }

    static func write(_ text: String) { write(Data(text.utf8)) }

    /// Writes data, but nothing after a failure: a result with a gap is worse than one that ends early.
    static func write(_ data: Data) {
        state.withLock { state in
            guard case .open = state, let failure = data.withUnsafeBytes(failure(writing:)) else { return }
            state = failure.number == EPIPE ? .abandoned : .failed(OutputError(failure))
        }
    }

    /// What keeps some of the bytes from being written.
    private static func failure(writing bytes: UnsafeRawBufferPointer) -> SystemFailure? {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = Foundation.write(STDOUT_FILENO, rest.baseAddress, rest.count)
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                // Another program that has it open may have made it non-blocking.
                var waiting = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return SystemFailure()
            }
        }
        return nil
    }
}

/// The output of a command is incomplete.
struct OutputError: ForeseenError {
    let description: String
    var exitCode: ExitCode { .noPermission }

    init(_ failure: SystemFailure) {
        description =
            "What this command prints can't be written to standard output: \(failure). "
            + "What is there of it is not all of it."
    }
}

/// Standard error, for logs, progress and complaints.
enum StandardError {
    static func write(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
