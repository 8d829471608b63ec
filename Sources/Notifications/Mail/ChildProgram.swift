import Files
import Foundation

/// A program that is run to its end, with an open file as its input and a time limit.
struct ChildProgram {
    /// How it ended.
    struct Ended {
        /// The exit code, or the number of the signal that ended it plus 128.
        let status: Int32
        /// The beginning of its output, on one line.
        let firstWords: String
    }

    let path: String
    let arguments: [String]

    /// What it gets of this process' environment; the rest, which may hold a database's password, does not leave it.
    private static let handedOver = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR"]
    /// How long to wait for a program that was asked to end.
    private static let respite = Duration.seconds(2)

    func run(input: FileHandle, timeLimit: TimeInterval) async throws -> Ended {
        // The parent of this process may have it ignored, and then nobody learns how a program ended.
        signal(SIGCHLD, SIG_DFL)
        let output = try Output()
        let identifier = try start(input: input.fileDescriptor, output: output.writer)
        output.closeWriter()
        guard let status = await Self.end(of: identifier, within: .seconds(timeLimit), hearing: output) else {
            await Self.stop(identifier, hearing: output)
            throw NotificationError("\(path) had not ended after \(Int(timeLimit)) s and was stopped")
        }
        let words = String(decoding: output.beginning, as: UTF8.self)
        return Ended(
            status: status, firstWords: words.split(whereSeparator: \.isWhitespace).joined(separator: " "))
    }

    private func start(input: Int32, output: Int32) throws(NotificationError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in [input, output, output].enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        var attributes = posix_spawnattr_t()
        Self.prepare(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }

        let own = ProcessInfo.processInfo.environment
        let environment = Self.handedOver.compactMap { name in own[name].map { "\(name)=\($0)" } }
        let words = ([path] + arguments).map { strdup($0) }
        let variables = environment.map { strdup($0) }
        defer { for text in words + variables { free(text) } }
        var identifier: pid_t = 0
        let failure = posix_spawn(&identifier, path, &actions, &attributes, words + [nil], variables + [nil])
        guard failure == 0 else {
            throw NotificationError("\(path) can't be started: \(SystemFailure(number: failure))")
        }
        return identifier
    }

    /// Puts it in a process group of its own, so that the processes that it starts can be ended with it. Resets its
    /// signals to what programs expect, for this one ignores some, and Dispatch blocks others on its threads.
    private static func prepare(_ attributes: inout posix_spawnattr_t) {
        posix_spawnattr_init(&attributes)
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
    }

    /// How the program ended; `nil` if it has not ended within the limit. It checks at growing intervals, so that no
    /// thread has to wait.
    private static func end(of identifier: pid_t, within limit: Duration, hearing output: Output) async -> Int32? {
        let last = ContinuousClock.now + limit
        // If nobody can say how it ended, that is no success.
        var (status, pause): (Int32, Duration) = (0xFF00, .milliseconds(2))
        defer { output.hear() }
        while waitpid(identifier, &status, WNOHANG) == 0 {
            output.hear()
            guard ContinuousClock.now < last else { return nil }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : signal + 128
    }

    private static func stop(_ identifier: pid_t, hearing output: Output) async {
        kill(-identifier, SIGTERM)
        if await end(of: identifier, within: respite, hearing: output) != nil { return }
        kill(-identifier, SIGKILL)
        _ = await end(of: identifier, within: respite, hearing: output)
    }
}

/// A program's output, through a pipe: its beginning is kept and the rest discarded, so that no output fills a disk.
private final class Output {
    private static let kept = 300

    let writer: Int32
    private let reader: Int32
    private var isWriterOpen = true
    private(set) var beginning = Data()

    init() throws(NotificationError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }),
            fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0
        else {
            throw NotificationError("no pipe can be made: \(SystemFailure())")
        }
        (reader, writer) = (ends[0], ends[1])
    }

    deinit {
        closeWriter()
        close(reader)
    }

    func closeWriter() {
        if isWriterOpen { close(writer) }
        isWriterOpen = false
    }

    /// Reads what is there, at most what a pipe holds, for there may always be more.
    func hear() {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(reader, &bytes, bytes.count)
        guard count > 0 else { return }
        beginning += bytes.prefix(min(count, Self.kept - beginning.count))
    }
}
