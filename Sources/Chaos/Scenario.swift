import AppStoreSimulator
import Foundation

/// A disturbance, played once or at many points.
struct Scenario: Sendable {
    /// The name for `SCENARIO=`.
    let name: String
    /// What happens, for the table.
    let what: String
    let points: Int
    let play: @Sendable (Stage, Point) async throws -> Void

    init(
        _ name: String, _ what: String, points: Int = 1, play: @escaping @Sendable (Stage, Point) async throws -> Void
    ) {
        self.name = name
        self.what = what
        self.points = points
        self.play = play
    }
}

/// One of a scenario's points, with its random numbers, which depend only on the seed, the scenario and the number.
struct Point: Sendable {
    /// Counted from one.
    let number: Int
    let random: SeededRandom

    init(seed: UInt64, scenario: String, number: Int) {
        self.number = number
        random = SeededRandom(seed: seed, part: scenario, number: UInt64(number))
    }
}

/// The job did not do what it should have done.
struct Broken: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
