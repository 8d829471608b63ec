import AppStoreSimulator
import Foundation
import Testing

@Suite struct FaultTests {
    private func store(_ shares: [Fault: Double], sticky: Double = 0, timeout: Double = 60) throws -> SimulatedAppStore
    {
        let faults = try Faults(shares, stickyShare: sticky, timeoutSeconds: timeout)
        return SimulatedAppStore(seed: 7, faults: faults, now: { testNow })
    }

    private func payloads(_ count: Int, of store: SimulatedAppStore) -> [String] {
        (0..<count).map { store.makeReceipt(receipt([consumable(String(370_000_000_000_000 + $0))])) }
    }

    /// What a store answers to every receipt, by HTTP status and code.
    private func outcomes(_ store: SimulatedAppStore, _ payloads: [String]) async throws -> [String] {
        try await withStore(store) { addresses async throws -> [String] in
            var outcomes: [String] = []
            for payload in payloads {
                let response = try await Client.verify(payload, at: addresses.productionVerifyReceipt)
                outcomes.append("\(response.status) \(response.code ?? -1) \(response.headers["retry-after"] ?? "")")
            }
            return outcomes
        }
    }

    @Test func hitsTheShareThatWasAsked() async throws {
        let store = try store([.http500: 0.1, .unavailable: 0.2])
        let outcomes = try await outcomes(store, payloads(1000, of: store))
        #expect((150...250).contains(outcomes.count { $0.hasPrefix("200 21005") }))
        #expect((65...135).contains(outcomes.count { $0.hasPrefix("5") }))
        #expect(store.counts.byFault[.unavailable] == outcomes.count { $0.hasPrefix("200 21005") })
        #expect(store.counts.total == 1000)
    }

    @Test func meetsTheSameFaultsAgain() async throws {
        let first = try store([.http500: 0.3, .internalError: 0.3])
        let payloads = payloads(60, of: first)
        let outcomes = try await (
            outcomes(first, payloads + payloads),
            outcomes(store([.http500: 0.3, .internalError: 0.3]), payloads + payloads)
        )
        #expect(outcomes.0 == outcomes.1)
        #expect(Array(outcomes.0.prefix(60)) != Array(outcomes.0.suffix(60)))
    }

    @Test func aRetrySucceedsUnlessTheFaultSticks() async throws {
        let passing = try store([.http500: 0.5])
        let payload = payloads(1, of: passing)[0]
        let passed = try await outcomes(passing, Array(repeating: payload, count: 20))
        #expect(Set(passed.map { $0.hasPrefix("200 0") }) == [true, false])
        let sticking = try store([.http500: 0.001, .html: 0.001], sticky: 1)
        let everTried = payloads(10, of: sticking).flatMap { Array(repeating: $0, count: 3) }
        let failed = try await outcomes(sticking, everTried)
        #expect(failed.allSatisfy { $0.hasPrefix("5") || $0.hasPrefix("200 -1") })
        #expect(sticking.counts.byFault.keys.count == 2)
    }

    @Test func asksToWaitInSecondsAndInMilliseconds() async throws {
        let store = try store([.rateLimited: 1])
        let waits = try await outcomes(store, payloads(40, of: store)).map { $0.split(separator: " ").last ?? "" }
        let milliseconds = waits.filter { $0 != "1" }
        #expect(!milliseconds.isEmpty && milliseconds.count < waits.count)
        #expect(milliseconds.allSatisfy { Int64($0).map { $0 > 1_600_000_000_000 } ?? false })
    }

    @Test func internalErrorsSayThatTheyAreRetryableInBothSpellings() async throws {
        let store = try store([.internalError: 1])
        let payloads = payloads(40, of: store)
        try await withStore(store) { addresses async throws -> Void in
            var spellings: Set<String> = []
            for payload in payloads {
                let answer = try await Client.verify(payload, at: addresses.productionVerifyReceipt)
                let code = try #require(answer.code)
                #expect(code == 21009 || (21100...21199).contains(code))
                for spelling in ["is-retryable", "is_retryable"] where answer.json[spelling] as? Bool == true {
                    spellings.insert(spelling)
                }
            }
            #expect(spellings == ["is-retryable", "is_retryable"])
        }
    }

    @Test(arguments: [Fault.truncated, .html]) func sendsWhatIsNoJSON(_ fault: Fault) async throws {
        let store = try store([fault: 1])
        let payload = payloads(1, of: store)[0]
        try await withStore(store) { addresses async throws -> Void in
            let answer = try await Client.verify(payload, at: addresses.productionVerifyReceipt)
            #expect(answer.status == 200)
            #expect(answer.json.isEmpty && !answer.body.isEmpty)
            #expect(answer.headers["content-type"]?.contains("html") == (fault == .html))
        }
    }

    @Test func cutsTheConnection() async throws {
        let store = try store([.cut: 1])
        let payload = payloads(1, of: store)[0]
        try await withStore(store) { addresses async throws -> Void in
            await #expect(throws: (any Error).self) {
                try await Client.verify(payload, at: addresses.productionVerifyReceipt)
            }
        }
    }

    @Test func holdsTheAnswerBackAndStopsAllTheSame() async throws {
        let store = try store([.timeout: 1], timeout: 3_600)
        try await withStore(store) { addresses async throws -> Void in
            let answer = try await Client.curl(["-m", "0.3", "-d", "{}", addresses.productionVerifyReceipt])
            #expect(answer.status == 28)
        }
        #expect(store.counts.byFault == [.timeout: 1])
    }

    @Test func isOutAfterSoManyRequestsOrWhenToldSo() async throws {
        let store = SimulatedAppStore(seed: 7, outageAfter: 2)
        let payload = payloads(1, of: store)[0]
        #expect(
            try await outcomes(store, Array(repeating: payload, count: 4)) == [
                "200 0 ", "200 0 ", "503 -1 ", "503 -1 ",
            ])
        let other = SimulatedAppStore(seed: 7)
        other.setOutage(true)
        #expect(try await outcomes(other, [payload]) == ["503 -1 "])
        other.setOutage(false)
        #expect(try await outcomes(other, [payload]) == ["200 0 "])
        #expect(other.counts.duringOutage == 1)
    }

    @Test(arguments: ["timeout", "429=2", "tuesday=0.1", "html=0.6,cut=0.6", "html=-0.1"])
    func refusesSharesThatMakeNoSense(_ text: String) {
        #expect(throws: SimulatorError.self) { try Faults(parsing: text) }
    }
}
