import Foundation
import TestSupport

/// Several runs at the same time.
enum Runs {
    static func scenarios() -> [Scenario] {
        [2, 4].flatMap { count in
            [
                Scenario("exclusive-\(count)", "\(count) runs at once, exclusive: one works") { stage, _ in
                    let ended = try await atOnce(count, stage, stage.job, expecting: [0, 75])
                    guard ended.contains(where: { $0.status == 0 }) else { throw Broken("none of them worked") }
                    try await stage.compare()
                },
                Scenario("shared-\(count)", "\(count) runs at once, shared: all work") { stage, _ in
                    let job = stage.job.with("run", ["workers": "shared"])
                    _ = try await atOnce(count, stage, job, expecting: [0])
                    try await stage.compare()
                },
            ]
        }
    }

    private static func atOnce(
        _ count: Int, _ stage: Stage, _ job: Job, expecting codes: Set<Int32>
    ) async throws -> [ChildProcess.Ended] {
        try await withThrowingTaskGroup(of: ChildProcess.Ended.self) { group in
            for _ in 0..<count { group.addTask { try await stage.run(job, expecting: codes) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
