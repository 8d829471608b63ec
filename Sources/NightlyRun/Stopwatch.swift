import Reconciliation
import Synchronization

/// How long each stage of the flow was under way, whoever was at it: two workers that verify at once for a second
/// count one.
final class Stopwatch: Sendable {
    enum Stage: String, CaseIterable {
        case pull, sales, hear, ask, fetch, verify, record, sweep, books, report
    }

    private struct Lap {
        var duration = Duration.zero
        var items = 0
        /// How many are at it, since when there is one.
        var running = 0
        var start = ContinuousClock.now
    }

    private let laps = Mutex<[Stage: Lap]>([:])

    /// Times the body; `items` tells from its value how much it handled.
    func time<Value, Failure: Error>(
        _ stage: Stage, items: (Value) -> Int = { _ in 0 }, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        begin(stage)
        do {
            let value = try await body()
            end(stage, items(value))
            return value
        } catch {
            end(stage, 0)
            throw error
        }
    }

    private func begin(_ stage: Stage) {
        laps.withLock { laps in
            var lap = laps[stage] ?? Lap()
            if lap.running == 0 { lap.start = .now }
            lap.running += 1
            laps[stage] = lap
        }
    }

    private func end(_ stage: Stage, _ items: Int) {
        laps.withLock { laps in
            laps[stage]?.items += items
            laps[stage]?.running -= 1
            guard let lap = laps[stage], lap.running == 0 else { return }
            laps[stage]?.duration += .now - lap.start
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
