import Foundation

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
