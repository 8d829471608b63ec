import Reconciliation
import Testing

@testable import Telling

@Suite struct OccasionTests {
    @Test(arguments: [
        (Occasion.always, [true, true, true, true]), (.findings, [true, false, true, true]),
        (.trouble, [false, false, true, true]),
    ])
    func eachKnowsItsRuns(occasion: Occasion, expected: [Bool]) {
        var early = News.complete(cases: 0)
        early.exitCode = .tryLater
        let runs = [News.complete(), News.complete(cases: 0), early, News.failed()]
        #expect(runs.map(occasion.includes) == expected)
    }
}
