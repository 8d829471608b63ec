import Foundation
import PostgreSQL

/// The processor cost of a night, and a guard against raising it unnoticed: it is compared with the cost of a fixed
/// piece of work on the same machine in the same minute.
enum NightCost {
    /// Each cost when it was last measured, on two cores of an EPYC, in units of the fixed work's seconds, for a night
    /// of 10,000 receipts of 10 transactions each, all new.
    private static let job = 11.2
    private static let server = 21.7

    /// The run fails if a cost is more than so many times as high.
    private static let tolerated = 1.25
    private static let transactions = 10

    static func measure(_ bench: Bench) async throws -> [Measurement] {
        let source = try await bench.filledDatabase(receipts: Nights.fewReceipts)
        var unit = Double.infinity
        var job = Double.infinity
        var server = Double.infinity
        for _ in 0..<3 {
            unit = min(unit, fixedWork())
            let before = try await serverProcessor(bench)
            job = min(job, try await Nights.night(bench, on: source, grace: "30d").processor)
            server = min(server, try await serverProcessor(bench) - before)
        }
        return figures("the job's processor", job, unit, limit: Self.job)
            + figures("PostgreSQL's processor", server, unit, limit: Self.server)
    }

    private static func figures(_ what: String, _ seconds: Double, _ unit: Double, limit: Double) -> [Measurement] {
        let receipts = Double(Nights.fewReceipts)
        func cost(_ things: String, _ count: Double) -> Measurement {
            Measurement(
                benchmark: "night", what: "\(what), a \(things)", value: seconds / count * 1e6, unit: "µs",
                limit: limit * unit / count * 1e6, against: "what it cost when it was measured last",
                aim: .atMost(tolerated), isGuard: true)
        }
        return [cost("receipt of 10", receipts), cost("transaction", receipts * Double(transactions))]
    }

    /// The processor's seconds for a fixed piece of work: it hashes, sorts and walks memory, as a night does.
    private static func fixedWork() -> Double {
        Timing.processor {
            var state: UInt64 = 0x9E37_79B9_7F4A_7C15
            var numbers = (0..<1_000_000).map { _ in
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return state
            }
            numbers.sort()
            var found: [UInt64: Int] = [:]
            for (index, number) in numbers.enumerated() { found[number &* 0x2545_F491_4F6C_DD1D] = index }
            precondition(found.count == numbers.count)
        }
    }

    /// The processors' seconds of those sessions of the server that have ended.
    private static func serverProcessor(_ bench: Bench) async throws -> Double {
        let connection = try await Connection.connect(ConnectionSettings(bench.conninfo("postgres")))
        let rows = try await connection.query("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid")
        connection.close()
        // The sessions of the night end a moment after it.
        try await Task.sleep(for: .milliseconds(500))
        guard let pid = try rows.first?.decode("pid", as: String.self),
            let line = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let ticks = line.split(separator: ")").last?.split(separator: " ").dropFirst(13).prefix(2)
        else { throw BenchmarkError("the time of PostgreSQL's sessions can't be read") }
        return ticks.compactMap { Double($0) }.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
