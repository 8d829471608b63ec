import Foundation

/// A shell that outlives this process, however that ends, and then stops the cluster and removes its folder. It holds
/// the reading end of a pipe whose writing end only we hold, so the end of file tells it that we are gone.
final class Watchdog: Sendable {
    private let lifeline: Int32

    init(cluster directory: String, stop: [String]) throws {
        let pipe = try PipeEnds()
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer {
            close(null)
            close(pipe.reading)
        }
        lifeline = pipe.writing
        // Forked away, so that it is no child of ours: a dead child that nobody asks for keeps Swift Testing from
        // seeing how its exit tests end.
        let parting = try Spawn.start(
            "/usr/bin/setsid", ["--fork", "/bin/sh", "-c", Self.script, "watchdog", directory] + stop,
            environment: ProcessInfo.processInfo.environment, directory: "/",
            descriptors: [pipe.reading, null, null])
        _ = Spawn.waitForEnd(of: parting)
    }

    deinit { close(lifeline) }

    /// Twice, since we may have ended while the cluster was being made.
    private static let script = """
        trap '' INT TERM HUP
        directory=$1
        shift
        cat > /dev/null
        for round in 1 2; do
            "$@"
            rm -rf "$directory"
            sleep 1
        done
        """
}
