import Synchronization
import Testing

@testable import AppStore

@Suite struct ConcurrencyGateTests {
    /// How many are inside now, and how many ever were at once.
    private final class Occupancy: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock { $0.most } }
        var now: Int { counts.withLock { $0.now } }

        func enter() {
            counts.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
            }
        }

        func leave() { counts.withLock { $0.now -= 1 } }
    }

    @Test func keepsRequestsInFlightWithinTheLimit() async throws {
        let gate = ConcurrencyGate(ceiling: 3)
        let occupancy = Occupancy()
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    try await gate.run { () async throws(CancellationError) in
                        occupancy.enter()
                        await Task.yield()
                        occupancy.leave()
                        return (number, .served)
                    }
                }
            }
            var sum = 0
            for try await number in group { sum += number }
            #expect(sum == 4950)
        }
        #expect(occupancy.most <= 3)
        #expect(gate.limit == 3)
    }

    @Test func narrowsUnderOverloadAndStillLetsEverybodyThrough() async throws {
        let gate = ConcurrencyGate(ceiling: 8)
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 {
                group.addTask { try await gate.run { () async throws(CancellationError) in ((), .overloaded) } }
            }
            try await group.waitForAll()
        }
        #expect(gate.limit == 1)
    }

    @Test func takesCancelledRequestsOutOfTheLine() async throws {
        let gate = ConcurrencyGate(ceiling: 1)
        let (isInside, enter) = AsyncStream.makeStream(of: Void.self)
        let (mayLeave, leave) = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await gate.run { () async throws(CancellationError) in
                enter.finish()
                for await _ in mayLeave {}
                return ((), .served)
            }
        }
        for await _ in isInside {}
        let waiting = Task { try await gate.run { () async throws(CancellationError) in (true, .served) } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        leave.finish()
        try await first.value
        #expect(try await gate.run { () async throws(CancellationError) in (true, .served) })
    }

    @Test func givesThePlaceBackWhenARequestIsCancelledInside() async throws {
        let gate = ConcurrencyGate(ceiling: 1)
        await #expect(throws: CancellationError.self) {
            try await gate.run { () async throws(CancellationError) -> (Void, AdaptiveLimit.Sign) in
                throw CancellationError()
            }
        }
        #expect(try await gate.run { () async throws(CancellationError) in (7, .served) } == 7)
    }
}
