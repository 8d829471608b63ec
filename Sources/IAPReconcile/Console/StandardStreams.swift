import Foundation

enum StandardStreams {
    /// Gives each of standard input, output and error that is closed an empty one. Else the next file that is opened has
    /// its number, and what is written there as a result would end up in a connection or a report.
    static func openMissing() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
    }
}

/// Results. A reader that went away is no error of the job's.
enum StandardOutput {
    static func write(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}

/// Logs, progress and complaints.
enum StandardError {
    static func write(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
