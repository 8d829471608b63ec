import AppStore
import AppStoreSimulator
import Foundation

/// Receipts that are asked about a second, with the client that a night uses. Without latency the limit is what `wrk`
/// gets from the same endpoint with the same questions; at 200 ms it is the requests in flight divided by the latency.
enum VerifyStage {
    private static let concurrency = 64

    static func measure(_ bench: Bench) async throws -> [Measurement] {
        let receipts = receipts(4_000)
        return try await withoutLatency(bench, receipts) + withLatency(bench, receipts, milliseconds: 200)
    }

    private static func withoutLatency(_ bench: Bench, _ receipts: [String]) async throws -> [Measurement] {
        try await bench.withStore { base in
            guard let wrk = Wrk(bench, receipts: receipts, concurrency: concurrency) else {
                print("  (verify without latency is left out: wrk is not installed)")
                return []
            }
            var (ours, theirs) = (0.0, 0.0)
            for _ in 0..<3 {
                theirs = max(theirs, try await wrk.requestsPerSecond(of: "\(base)/production/verifyReceipt"))
                ours = max(ours, try await receiptsPerSecond(receipts, base, rounds: 5))
            }
            return [
                Measurement(
                    benchmark: "verify", what: "verify, no latency, 64 in flight", value: ours, unit: "receipts/s",
                    limit: theirs, against: "wrk on the same endpoint", aim: .atLeast(0.5))
            ]
        }
    }

    private static func withLatency(
        _ bench: Bench, _ receipts: [String], milliseconds: Int
    ) async throws -> [Measurement] {
        try await bench.withStore(latency: milliseconds) { base in
            let speed = try await receiptsPerSecond(receipts, base)
            return [
                Measurement(
                    benchmark: "verify", what: "verify, \(milliseconds) ms latency, 64 in flight", value: speed,
                    unit: "receipts/s", limit: Double(concurrency) * 1000 / Double(milliseconds),
                    against: "concurrency ÷ latency", aim: .atLeast(0.95))
            ]
        }
    }

    /// - Parameter rounds: how often each receipt is asked about, so that a fast endpoint is asked for seconds, too.
    private static func receiptsPerSecond(
        _ receipts: [String], _ base: String, rounds: Int = 1
    ) async throws -> Double {
        var settings = VerifyReceiptSettings()
        settings.production = "\(base)/production/verifyReceipt"
        settings.sandbox = "\(base)/sandbox/verifyReceipt"
        settings.concurrency = concurrency
        let client = try AppStoreConnection(
            concurrency: concurrency, connectTimeout: 10, timeout: 30, certificateAuthorities: nil
        ).verifyReceipt(settings)
        let seconds = try await Timing.wall {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for receipt in repeatElement(receipts, count: rounds).joined() {
                    group.addTask {
                        let outcome = try await client.verify(receiptData: receipt, sharedSecret: nil)
                        guard case .genuine = outcome else { return false }
                        return true
                    }
                }
                for try await isGenuine in group where !isGenuine {
                    throw BenchmarkError("the simulated App Store refused a receipt of its own")
                }
            }
        }
        return Double(receipts.count * rounds) / seconds
    }

    private static func receipts(_ count: Int) -> [String] {
        let store = SimulatedAppStore(seed: Bench.seed)
        let bought = Date().addingTimeInterval(-86_400)
        return (0..<count).map { number in
            store.makeReceipt(
                SimulatedReceipt(
                    bundleID: Bench.bundleID, account: "bench-\(number)", createdAt: bought,
                    transactions: (0..<10).map {
                        SimulatedTransaction(
                            id: String(1_000_000_000_000_000 + number * 10 + $0), productID: "gems.100",
                            purchasedAt: bought)
                    }))
        }
    }
}

/// The load generator `wrk`, posting the same receipts in turn.
private struct Wrk {
    private let script: String
    private let output: String
    private let concurrency: Int

    /// `nil` if it is not installed.
    init?(_ bench: Bench, receipts: [String], concurrency: Int) {
        guard FileManager.default.isExecutableFile(atPath: Self.program) else { return nil }
        let bodies = "\(bench.scratch)/bodies"
        script = "\(bench.scratch)/wrk.lua"
        output = "\(bench.scratch)/wrk.log"
        self.concurrency = concurrency
        let lines = receipts.map { #"{"receipt-data":"\#($0)","exclude-old-transactions":false}"# + "\n" }.joined()
        let program = """
            local requests, turn = {}, 0
            function init()
                for body in io.lines("\(bodies)") do
                    requests[#requests + 1] = wrk.format("POST", nil, {["Content-Type"] = "application/json"}, body)
                end
            end
            function request()
                turn = turn % #requests + 1
                return requests[turn]
            end
            function done(summary)
                print("Bytes/answer: " .. summary.bytes / summary.requests)
            end

            """
        guard (try? lines.write(toFile: bodies, atomically: true, encoding: .utf8)) != nil,
            (try? program.write(toFile: script, atomically: true, encoding: .utf8)) != nil
        else { return nil }
    }

    private static let program = "/usr/bin/wrk"

    func requestsPerSecond(of address: String) async throws -> Double {
        _ = try await Program.run(
            Self.program,
            ["--threads", "1", "--connections", "\(concurrency)", "--duration", "4s", "--script", script, address],
            output: output)
        let said = try String(contentsOfFile: output, encoding: .utf8)
        func figure(_ name: String) -> Double {
            let line = said.split(separator: "\n").first { $0.hasPrefix(name) }
            return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
        }
        // A refusal is an answer of a few bytes.
        guard figure("Bytes/answer:") > 1000, !said.contains("Non-2xx") else {
            throw BenchmarkError("wrk was not answered as it should be: \(said)")
        }
        return figure("Requests/sec:")
    }
}
