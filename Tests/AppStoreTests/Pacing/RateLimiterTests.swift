import Testing

@testable import AppStore

@Suite struct RateLimiterTests {
    @Test func spacesRequestsByItsRate() async throws {
        let time = TestPace()
        let limiter = RateLimiter(requestsPerSecond: 2, pace: time.pace)
        for _ in 0..<4 { try await limiter.waitForTurn() }
        #expect(time.sleeps == [0.5, 0.5, 0.5])
    }

    @Test func endsWithTheTask() async {
        let limiter = RateLimiter(requestsPerSecond: 0.01, pace: .real)
        let waiting = Task { for _ in 0..<2 { try await limiter.waitForTurn() } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
