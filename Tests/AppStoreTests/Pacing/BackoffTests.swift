import Testing

@testable import AppStore

@Suite struct BackoffTests {
    private let backoff = Backoff(attempts: 4, base: 0.5, cap: 3, longestRetryAfter: 60)

    @Test(arguments: [(1, 0.5), (2, 1.0), (3, 2.0)])
    func waitsAtMostTwiceAsLongEachTime(attempt: Int, most: Double) {
        #expect(backoff.step(afterAttempt: attempt, retryAfter: nil, random: 0) == .wait(0))
        #expect(backoff.step(afterAttempt: attempt, retryAfter: nil, random: 0.5) == .wait(most / 2))
        #expect(backoff.step(afterAttempt: attempt, retryAfter: nil, random: 1) == .wait(most))
    }

    @Test func givesUpAfterTheLastAttempt() {
        #expect(backoff.step(afterAttempt: 4, retryAfter: nil, random: 0.5) == .giveUp)
        #expect(Backoff(attempts: 1).step(afterAttempt: 1, retryAfter: nil, random: 0.5) == .giveUp)
    }

    @Test func neverWaitsLongerThanTheCap() {
        let patient = Backoff(attempts: 1000, base: 0.5, cap: 3)
        #expect(patient.step(afterAttempt: 4, retryAfter: nil, random: 1) == .wait(3))
        #expect(patient.step(afterAttempt: 999, retryAfter: nil, random: 1) == .wait(3))
    }

    @Test func waitsAsLongAsTheServerAsksAndSpreadsWhatComesAfter() {
        #expect(backoff.step(afterAttempt: 1, retryAfter: 7, random: 0) == .wait(7))
        #expect(backoff.step(afterAttempt: 1, retryAfter: 7, random: 1) == .wait(7.5))
        #expect(backoff.step(afterAttempt: 1, retryAfter: 60, random: 0) == .wait(60))
    }

    @Test func endsTheAttemptsRatherThanWaitForHours() {
        #expect(backoff.step(afterAttempt: 1, retryAfter: 61, random: 0) == .tooLong(61))
        #expect(backoff.step(afterAttempt: 4, retryAfter: 3600, random: 0) == .tooLong(3600))
    }
}
