import Foundation

/// A program that the benchmarks start. It belongs to their session, which `make bench` ends as a whole.
final class Program: Sendable {
    private let identifier: pid_t
    private let name: String

    /// What is known of a program that has ended.
    struct Ended {
        let seconds: Double
        /// The most resident memory, in megabytes.
        let peakMemory: Double
        /// The processors' seconds of the program and its threads.
        let processor: Double
    }

    /// Starts a program whose standard output and error go to a file.
    init(_ path: String, _ arguments: [String], output: String) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o640)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        let words = ([path] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var identifier: pid_t = 0
        let failure = posix_spawnp(&identifier, path, &actions, nil, words + [nil], environ)
        name = URL(filePath: path).lastPathComponent
        guard failure == 0 else {
            throw BenchmarkError("\(path) can't be started: \(String(cString: strerror(failure)))")
        }
        self.identifier = identifier
    }

    /// Runs a program to its end.
    ///
    /// - Throws: if it ends with anything but 0; the error shows its output.
    static func run(_ path: String, _ arguments: [String], output: String) async throws -> Ended {
        let program = try Program(path, arguments, output: output)
        return try await program.ended { try? String(contentsOfFile: output, encoding: .utf8) }
    }

    /// Waits for its end, and looks at its memory every few milliseconds: the system's figure for an ended program
    /// includes the memory of the process that started it.
    private func ended(_ said: () -> String?) async throws -> Ended {
        let start = ContinuousClock.now
        var peak = 0.0
        var status: Int32 = 0
        var usage = rusage()
        while wait4(identifier, &status, WNOHANG, &usage) == 0 {
            peak = max(peak, memory)
            try await Task.sleep(for: .milliseconds(2))
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard status == 0 else { throw BenchmarkError("\(name) ended with \(status >> 8): \(said() ?? "")") }
        let processor = [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1e6 }
        return Ended(seconds: seconds, peakMemory: peak, processor: processor.reduce(0, +))
    }

    /// Ends it and waits for that.
    func stop() {
        kill(identifier, SIGTERM)
        var status: Int32 = 0
        waitpid(identifier, &status, 0)
    }

    /// The most megabytes that were resident so far.
    private var memory: Double {
        let status = (try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first).flatMap { Double($0) }
            .map { $0 / 1024 } ?? 0
    }
}
