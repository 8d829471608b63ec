import Testing

@testable import AppStore

@Suite struct AdaptiveLimitTests {
    private func roundTrip(_ limit: inout AdaptiveLimit, _ sign: AdaptiveLimit.Sign) {
        let requests = (0..<limit.limit).map { _ in limit.start() }
        for request in requests { limit.end(request, sign) }
    }

    @Test func halvesOnceForAWholeRoundTripOfOverload() {
        var limit = AdaptiveLimit(ceiling: 64)
        #expect(limit.limit == 64)
        roundTrip(&limit, .overloaded)
        #expect(limit.limit == 32)
        roundTrip(&limit, .overloaded)
        #expect(limit.limit == 16)
    }

    @Test func takesAFailureHereAndThereForNone() {
        var limit = AdaptiveLimit(ceiling: 64)
        for number in 0..<10_000 {
            limit.end(limit.start(), number % 20 == 0 ? .failed : .served)
        }
        #expect(limit.limit == 64)
    }

    @Test func halvesWhereManyOfARoundTripFail() {
        var limit = AdaptiveLimit(ceiling: 64)
        roundTrip(&limit, .failed)
        #expect(limit.limit == 32)
        roundTrip(&limit, .failed)
        #expect(limit.limit == 16)
    }

    @Test(arguments: [(8, 64), (9, 32)])
    func bearsThatAnEighthOfARoundTripFails(failures: Int, expected: Int) {
        var limit = AdaptiveLimit(ceiling: 64)
        let requests = (0..<64).map { _ in limit.start() }
        for request in requests { limit.end(request, request < failures ? .failed : .other) }
        #expect(limit.limit == expected)
    }

    @Test(arguments: [
        (429, AdaptiveLimit.Sign.overloaded), (503, .overloaded), (500, .failed), (502, .failed), (404, .other),
    ])
    func readsTheLoadFromTheStatus(status: Int, sign: AdaptiveLimit.Sign) {
        #expect(AdaptiveLimit.Sign(unanswered: status) == sign)
    }

    @Test func neverFallsBelowOne() {
        var limit = AdaptiveLimit(ceiling: 5)
        for _ in 0..<10 { roundTrip(&limit, .overloaded) }
        #expect(limit.limit == 1)
    }

    @Test func recoversByASixteenthOfTheCeilingInARoundTrip() {
        var limit = AdaptiveLimit(ceiling: 64)
        for _ in 0..<3 { roundTrip(&limit, .overloaded) }
        #expect(limit.limit == 8)
        roundTrip(&limit, .served)
        #expect((11...12).contains(limit.limit))
        for _ in 0..<16 { roundTrip(&limit, .served) }
        #expect(limit.limit == 64)
    }

    @Test func neverExceedsTheCeiling() {
        var limit = AdaptiveLimit(ceiling: 3)
        for _ in 0..<50 { roundTrip(&limit, .served) }
        #expect(limit.limit == 3)
        #expect(AdaptiveLimit(ceiling: 0).limit == 1)
    }

    @Test func takesWhatSaysNothingOfTheLoadForNothing() {
        var limit = AdaptiveLimit(ceiling: 64)
        roundTrip(&limit, .overloaded)
        roundTrip(&limit, .other)
        #expect(limit.limit == 32)
    }
}
