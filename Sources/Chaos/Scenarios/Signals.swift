import Foundation
import TestSupport

/// The job is asked to stop.
enum Signals {
    static func scenarios(points: Int) -> [Scenario] {
        [("sigterm", SIGTERM, "SIGTERM"), ("sigint", SIGINT, "SIGINT")].map { name, signal, text in
            Scenario(name, "\(text) at a random moment, then a run", points: max(2, points / 4)) { stage, point in
                var random = point.random
                let job = Moment(&random, of: stage).signal(stage.job, signal)
                // 0 if nothing was left to stop.
                let ended = try await stage.run(job, expecting: [75, 0])
                guard ended.status == 0 || ended.output.contains(text) else {
                    throw Broken("the summary does not name \(text):\n\(ended.output)")
                }
                try await stage.finishAndCompare()
            }
        }
    }
}
