import AppStoreSimulator
import Foundation
import PostgreSQL
import TestSupport

/// PostgreSQL goes away in the middle of a night, and comes back.
enum Databases {
    static func scenarios(points: Int) -> [Scenario] {
        let few = max(3, points / 10)
        return [
            Scenario("restart-fast", "PostgreSQL restarted in the middle (fast)", points: few) { stage, point in
                try await disturbed(stage, point) { try await stage.theatre.cluster.restart() }
            },
            Scenario("restart-immediate", "PostgreSQL crashes and starts again", points: few) { stage, point in
                try await disturbed(stage, point) {
                    try await stage.theatre.cluster.stop(immediate: true)
                    try await stage.theatre.cluster.start()
                }
            },
            Scenario("terminate", "the job's backends terminated", points: max(3, points / 4)) { stage, point in
                try await disturbed(stage, point) {
                    let admin = try await stage.connect()
                    defer { admin.close() }
                    _ = try await admin.query(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename IN ('iap_job', 'iap_import')"
                    )
                }
            },
        ]
    }

    /// Stops a run at a random moment while something happens to its database. The run has to recover from that by
    /// itself.
    private static func disturbed(
        _ stage: Stage, _ point: Point, _ disturb: () async throws -> Void
    ) async throws {
        var random = point.random
        let job = Moment(&random, of: stage).signal(stage.job, SIGSTOP)
        try await stage.run(job, expecting: [0]) { child in
            guard try await child.waitUntilStopped() else { return }
            try await disturb()
            child.send(signal: SIGCONT)
        }
        try await stage.compare()
    }
}

extension ChildProcess {
    /// Waits until a signal has stopped the program; returns false if it ended before.
    func waitUntilStopped() async throws -> Bool {
        while isRunning {
            let status = (try? String(contentsOfFile: "/proc/\(processIdentifier)/stat", encoding: .utf8)) ?? ""
            // The state follows the program's name, which is in parentheses.
            if status.split(separator: ")").last?.hasPrefix(" T") == true { return true }
            try await Task.sleep(for: .milliseconds(2))
        }
        return false
    }
}
