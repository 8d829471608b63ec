import Foundation

/// A scenario, played at all its points or at the requested one, and its line of the table.
struct Performance {
    let theatre: Theatre
    let scenario: Scenario
    let options: Options

    /// Plays it and prints its line. Returns 1 if anything broke, otherwise 0.
    func perform() async throws -> Int {
        let start = ContinuousClock.now
        let points = options.point.map { [$0] } ?? Array(1...max(1, scenario.points))
        var failures: [(point: Int, why: String)] = []
        for point in points {
            do {
                try await play(point)
            } catch {
                failures.append((point, "\(error)"))
            }
        }
        report(failures, points: points.count, seconds: (ContinuousClock.now - start) / .seconds(1))
        return failures.isEmpty ? 0 : 1
    }

    private func play(_ number: Int) async throws {
        let point = Point(seed: options.seed, scenario: scenario.name, number: number)
        try await theatre.withStage { stage in
            try await scenario.play(stage, point)
        }
    }

    private func report(_ failures: [(point: Int, why: String)], points: Int, seconds: Double) {
        let verdict = failures.isEmpty ? "held " : "BROKE"
        let count = points == 1 ? "" : "\(points) points"
        say(
            "\(verdict)  \(padded(scenario.name, 18))  \(padded(scenario.what, 64))  \(padded(count, 10))"
                + String(format: "%7.1f s", seconds))
        for failure in failures.prefix(5) {
            say(
                "       make chaos SEED=\(options.seed) SCENARIO=\(scenario.name) POINT=\(failure.point)"
                    + " POINTS=\(options.points)")
            for line in failure.why.split(separator: "\n").prefix(12) { say("         \(line.prefix(400))") }
        }
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
