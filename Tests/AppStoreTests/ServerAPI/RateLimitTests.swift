import Foundation
import Testing

@testable import AppStore

@Suite struct RateLimitTests {
    private let time = TestPace()

    @Test func keepsToEachEndpointsRate() async throws {
        try await ServerAPIStage.with(time, reply: .apiError(4_000_006)) { stage in
            for _ in 0..<4 { _ = try await stage.client.orderLookup("M1") }
            #expect(time.sleeps.map { ($0 * 1000).rounded() } == [100, 100, 100])
            // Another endpoint has its own.
            _ = try await stage.client.transactionInfo("1")
            #expect(time.sleeps.count == 3)
        }
    }

    @Test func keepsToATenthInSandbox() async throws {
        try await ServerAPIStage.with(time, reply: .apiError(4_000_006)) { stage in
            for _ in 0..<3 { _ = try await stage.client.transactionInfo("1", in: .sandbox) }
            #expect(time.sleeps.map { ($0 * 1000).rounded() } == [200, 200])
        }
    }

    @Test func namesApplesLimits() {
        let limits = ServerAPILimits()
        let production = ServerAPIOperation.allCases.map { limits.requestsPerSecond($0, in: .production) }
        #expect(production == [50, 50, 50, 10, 10, 50])
        let sandbox = ServerAPIOperation.allCases.map { limits.requestsPerSecond($0, in: .sandbox) }
        #expect(sandbox == [5, 5, 5, 1, 1, 5])
    }
}
