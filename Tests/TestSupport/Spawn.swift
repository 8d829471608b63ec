import Foundation

/// Starts programs by posix_spawn. Foundation's Process takes a program for running as long as anything that the
/// program started lives on, and a database server does live on.
enum Spawn {
    /// What a test's process holds open at once stays below.
    private static let mostDescriptors: Int32 = 4096

    /// - Parameter descriptors: what becomes standard input, output and error; nothing else is handed over
    static func start(
        _ program: String, _ arguments: [String], environment: [String: String], directory: String?,
        descriptors: [Int32]
    ) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        // By a socket that it leaves open for its own child, Foundation's Process learns that this has ended: never, if a
        // server that is started meanwhile keeps it.
        for descriptor in Int32(descriptors.count)..<min(getdtablesize(), mostDescriptors) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }

        var attributes = posix_spawnattr_t()
        prepare(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }

        var identifier: pid_t = 0
        let line = (directory.map { ["/usr/bin/env", "-C", $0] } ?? []) + [program] + arguments
        let words = line.map { strdup($0) }
        let variables = environment.map { strdup("\($0.key)=\($0.value)") }
        defer { for text in words + variables { free(text) } }
        let failure = posix_spawn(&identifier, line[0], &actions, &attributes, words + [nil], variables + [nil])
        guard failure == 0 else {
            throw ChildProcess.Failure(
                description: "\(program) can't be started: \(String(cString: strerror(failure)))")
        }
        return identifier
    }

    /// Dispatch blocks signals on its threads, and a child would inherit that.
    private static func prepare(_ attributes: inout posix_spawnattr_t) {
        posix_spawnattr_init(&attributes)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    }

    /// Blocks; returns the exit code, or the signal's number plus 128.
    static func waitForEnd(of identifier: Int32) -> Int32 {
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) == -1, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : signal + 128
    }
}
