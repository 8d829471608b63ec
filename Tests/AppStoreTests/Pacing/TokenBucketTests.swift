import Testing

@testable import AppStore

@Suite struct TokenBucketTests {
    @Test func letsRequestsThroughAtItsRate() {
        var bucket = TokenBucket(rate: 4)
        let waits = (0..<4).map { _ in bucket.take(at: 100) }
        #expect(waits == [0, 0.25, 0.5, 0.75])
    }

    @Test func holdsTheTokensOfATenthOfASecondAfterARest() {
        var bucket = TokenBucket(rate: 50)
        let waits = (0..<8).map { _ in bucket.take(at: 100) }
        #expect(waits.prefix(5).allSatisfy { $0 == 0 })
        #expect(waits[5] > 0.01)
    }

    @Test(arguments: [1.0, 7, 50, 1000])
    func neverExceedsItsRateOverASecond(rate: Double) {
        var bucket = TokenBucket(rate: rate)
        var now = 0.0
        var sent: [Double] = []
        while now < 10 {
            let start = now + bucket.take(at: now)
            sent.append(start)
            now = start
        }
        for second in stride(from: 0.0, to: 9, by: 1) {
            let within = sent.count { $0 >= second && $0 < second + 1 }
            #expect(Double(within) <= rate * 1.1 + 1)
            #expect(Double(within) >= rate - 1)
        }
    }
}
