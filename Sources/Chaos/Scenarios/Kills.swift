import AppStoreSimulator
import Foundation
import Ledger

/// The job is killed, as if its machine went down, and a later run finishes the night.
enum Kills {
    static func scenarios(_ theatre: Theatre, points: Int) -> [Scenario] {
        let places = Checkpoint.allCases.flatMap { [($0, 1), ($0, 4)] }
            .filter { place, passage in theatre.passages.count { $0 == place.rawValue } >= passage || passage == 1 }
        return [
            Scenario(
                "kill-checkpoint", "kill -9 at each checkpoint's first and fourth passage, then a run",
                points: places.count
            ) { stage, point in
                let (place, passage) = places[point.number - 1]
                let job = stage.job.signalled(at: place.rawValue, passage: passage, signal: SIGKILL)
                // If a checkpoint were never passed, nothing would be killed.
                try await stage.run(job, expecting: [128 + SIGKILL])
                try await stage.finishAndCompare()
            },
            Scenario("kill-random", "kill -9 at a random moment, then a run", points: points) { stage, point in
                var random = point.random
                try await killed(stage, &random)
                try await stage.finishAndCompare()
            },
            Scenario(
                "kill-five", "kill -9 at five random moments of one night, then a run", points: max(1, points / 10)
            ) { stage, point in
                var random = point.random
                for _ in 0..<5 {
                    try await killed(stage, &random)
                    try await stage.waitUntilPostgreSQLNoticed()
                }
                try await stage.finishAndCompare()
            },
        ]
    }

    /// Kills a run at a random moment: some time after it passes any checkpoint. If the moment comes too late, the run
    /// ends by itself.
    private static func killed(_ stage: Stage, _ random: inout SeededRandom) async throws {
        let job = Moment(&random, of: stage).signal(stage.job, SIGKILL)
        try await stage.run(job, expecting: [128 + SIGKILL, 0])
    }
}

/// A random moment of a run.
struct Moment {
    let passage: Int
    let microseconds: Int

    init(_ random: inout SeededRandom, of stage: Stage) {
        passage = Int.random(in: 1...stage.theatre.passages.count, using: &random)
        microseconds = Int.random(in: 0...4000, using: &random)
    }

    func signal(_ job: Job, _ signal: Int32) -> Job {
        job.signalled(at: "any", passage: passage, signal: signal, microseconds: microseconds)
    }
}
