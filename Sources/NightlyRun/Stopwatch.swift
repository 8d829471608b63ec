import Reconciliation
import Synchronization

/// Adds up how long each stage of the flow took, over all workers: two workers that verify at once for a second
/// each count two.
final class Stopwatch: Sendable {
    enum Stage: String, CaseIterable {
        case fetch, verify, record, sweep, books, report
    }

    private struct Lap {
        var duration = Duration.zero
        var items = 0
    }

    private let laps = Mutex<[Stage: Lap]>([:])

    /// Times the body; `items` tells from its value how much it handled.
    func time<Value, Failure: Error>(
        _ stage: Stage, items: (Value) -> Int = { _ in 0 }, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let start = ContinuousClock.now
        let value = try await body()
        add(stage, ContinuousClock.now - start, items(value))
        return value
    }

    private func add(_ stage: Stage, _ duration: Duration, _ items: Int) {
        laps.withLock { laps in
            laps[stage, default: Lap()].duration += duration
            laps[stage, default: Lap()].items += items
        }
    }

    /// The stages that were timed, in the order of the flow.
    var stages: [StageTime] {
        laps.withLock { laps in
            Stage.allCases.compactMap { stage in
                laps[stage].map { lap in
                    StageTime(name: stage.rawValue, seconds: lap.duration / .seconds(1), items: lap.items)
                }
            }
        }
    }
}
