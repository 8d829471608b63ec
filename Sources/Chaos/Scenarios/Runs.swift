import Foundation
import TestSupport

/// Several runs at the same time.
enum Runs {
    static func scenarios() -> [Scenario] {
        [2, 4].flatMap { count in
            [
                Scenario("exclusive-\(count)", "\(count) runs at once, exclusive: one works") { stage, _ in
                    let codes = try await atOnce(count, stage, stage.job)
                    guard codes.contains(0), codes.allSatisfy({ $0 == 0 || $0 == 75 }) else {
                        throw Broken("the runs ended with \(codes)")
                    }
                    try await stage.compare()
                },
                Scenario("shared-\(count)", "\(count) runs at once, shared: all work") { stage, _ in
                    let codes = try await atOnce(count, stage, stage.job.with("run", ["workers": "shared"]))
                    guard codes.allSatisfy({ $0 == 0 }) else { throw Broken("the runs ended with \(codes)") }
                    try await stage.compare()
                },
            ]
        }
    }

    private static func atOnce(_ count: Int, _ stage: Stage, _ job: Job) async throws -> [Int32] {
        try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<count { group.addTask { try await stage.run(job).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
