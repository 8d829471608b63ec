import Foundation
import PostgreSQL

/// Whole nights, from the start of the program to its end, beside the database and a simulated App Store.
enum Nights {
    static let fewReceipts = 10_000
    private static let manyReceipts = 100_000
    /// In megabytes.
    private static let memoryLimit = 150.0

    /// Measures a night on which nothing is due.
    static func empty(_ bench: Bench) async throws -> [Measurement] {
        try await bench.createDatabase("empty")
        let configuration = try bench.configuration(database: "empty", store: "http://127.0.0.1:9")
        var seconds: [Double] = []
        for _ in 0..<7 { seconds.append(try await bench.night(configuration).seconds) }
        try await bench.dropDatabase("empty")
        return [
            Measurement(
                benchmark: "empty-night", what: "a night with nothing to do", value: seconds.sorted()[3] * 1000,
                unit: "ms", limit: 100, against: "100 ms", aim: .atMost(1))
        ]
    }

    /// Measures a night's time and memory with ten times the receipts, all of whose transactions are within their
    /// grace, and the memory of a night that finds all of them lost.
    static func growing(_ bench: Bench) async throws -> [Measurement] {
        let few = try await night(bench, receipts: fewReceipts, grace: "30d")
        let lost = try await night(bench, receipts: fewReceipts, grace: "1h")
        let many = try await night(bench, receipts: manyReceipts, grace: "30d")
        try await bench.dropDatabase(try await bench.filledDatabase(receipts: manyReceipts))
        return [
            memory("10,000 receipts of 10 transactions", few),
            memory("10,000 receipts, all 100,000 transactions lost", lost),
            memory("100,000 receipts of 10 transactions", many),
            Measurement(
                benchmark: "night", what: "100,000 receipts of 10 transactions", value: many.seconds, unit: "s",
                limit: few.seconds, against: "the time of 10,000 receipts", aim: nil),
        ]
    }

    /// Measures a night's time and memory up to a million receipts, of one transaction each.
    static func million(_ bench: Bench) async throws -> [Measurement] {
        var measurements: [Measurement] = []
        var tenth: Double?
        for receipts in [fewReceipts, manyReceipts, 1_000_000] {
            let source = try await bench.filledDatabase(receipts: receipts, transactions: 1)
            let ended = try await night(bench, on: source, grace: "30d")
            try await bench.dropDatabase(source)
            let what = "\(receipts) receipts of 1 transaction"
            measurements.append(memory(what, ended, "million"))
            if let tenth {
                measurements.append(
                    Measurement(
                        benchmark: "million", what: what, value: ended.seconds, unit: "s", limit: tenth * 10,
                        against: "ten times a tenth of them", aim: nil))
            }
            tenth = ended.seconds
        }
        return measurements
    }

    private static func memory(
        _ what: String, _ night: Program.Ended, _ benchmark: String = "night"
    ) -> Measurement {
        Measurement(
            benchmark: benchmark, what: what, value: night.peakMemory, unit: "MB", limit: memoryLimit,
            against: "150 MB of memory", aim: .atMost(1))
    }

    private static func night(_ bench: Bench, receipts: Int, grace: String) async throws -> Program.Ended {
        try await night(bench, on: try await bench.filledDatabase(receipts: receipts), grace: grace)
    }

    /// Runs one night on a copy of a database.
    static func night(_ bench: Bench, on source: String, grace: String) async throws -> Program.Ended {
        try await bench.withStore { store in try await night(bench, on: source, beside: store, grace: grace) }
    }

    private static func night(
        _ bench: Bench, on source: String, beside store: String, grace: String
    ) async throws -> Program.Ended {
        try await bench.copyDatabase(source, to: "night")
        let configuration = try bench.configuration(database: "night", store: store, grace: grace)
        let ended = try await bench.night(configuration)
        try await bench.dropDatabase("night")
        return ended
    }

    /// Measures several processes that share one inbox at a latency of 200 ms; each has 64 requests in flight.
    static func sharedByWorkers(_ bench: Bench) async throws -> [Measurement] {
        let source = try await bench.filledDatabase(receipts: fewReceipts)
        var measurements: [Measurement] = []
        for processes in [1, 2, 4] {
            let seconds = try await bench.withStore(latency: 200) { store in
                try await bench.copyDatabase(source, to: "night")
                let seconds = try await Timing.wall {
                    let configuration = try bench.configuration(
                        database: "night", store: store, grace: "30d", run: "workers = shared")
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for process in 0..<processes {
                            group.addTask { _ = try await bench.night(configuration, log: "worker-\(process)") }
                        }
                        try await group.waitForAll()
                    }
                }
                try await bench.dropDatabase("night")
                return seconds
            }
            measurements.append(
                Measurement(
                    benchmark: "workers", what: "10,000 receipts, 200 ms latency, processes: \(processes)",
                    value: Double(fewReceipts) / seconds, unit: "receipts/s", limit: Double(processes * 64 * 5),
                    against: "concurrency ÷ latency", aim: nil))
        }
        return measurements
    }

    /// Measures a night with Apple's answers of an ordinary day: a hundredth takes four times the median, and a
    /// hundredth never comes.
    static func onRoughDay(_ bench: Bench) async throws -> [Measurement] {
        let source = try await bench.filledDatabase(receipts: fewReceipts)
        let seconds = try await bench.withStore(latency: 200, tail: 800, faults: "http500=0.01") { store in
            try await night(bench, on: source, beside: store, grace: "30d").seconds
        }
        // The mean of a log-normal distribution with that median and that 99th percentile, asked 1.01 times.
        let spread = log(4.0) / 2.326
        let mean = 0.2 * exp(spread * spread / 2) * 1.01
        return [
            Measurement(
                benchmark: "rough", what: "200 ms, a hundredth 800 ms, a hundredth HTTP 500",
                value: Double(fewReceipts) / seconds, unit: "receipts/s", limit: 64 / mean,
                against: "concurrency ÷ mean latency", aim: nil)
        ]
    }
}
