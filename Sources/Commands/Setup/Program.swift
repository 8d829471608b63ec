import Foundation
import Job
import Reconciliation

/// A program of the system's, run to its end.
public enum Program {
    /// Runs a program that has to succeed.
    ///
    /// - Parameter isQuiet: whether what it says is thrown away.
    /// - Throws: `SetupError` if it can't be started or does not end with 0.
    public static func run(_ words: [String], isQuiet: Bool = false) throws(SetupError) {
        let status = try status(of: words, isQuiet: isQuiet)
        guard status == 0 else {
            throw SetupError("“\(words.joined(separator: " "))” ended with \(status).", exitCode: .software)
        }
    }

    /// Runs a program, and gives the number that it ended with.
    ///
    /// - Throws: `SetupError` if it can't be started.
    public static func status(of words: [String], isQuiet: Bool = false) throws(SetupError) -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        process.standardInput = FileHandle.nullDevice
        if isQuiet {
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
        }
        do {
            try process.run()
        } catch {
            throw SetupError(
                "“\(words.joined(separator: " "))” can't be started: \(error.localizedDescription.sentence)")
        }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
