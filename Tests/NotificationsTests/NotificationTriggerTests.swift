import Reconciliation
import Testing

@testable import Notifications

@Suite struct NotificationTriggerTests {
    @Test(arguments: [
        (NotificationTrigger.always, [true, true, true, true, true]), (.findings, [true, false, true, true, true]),
        (.trouble, [false, false, true, true, true]),
    ])
    func eachKnowsItsRuns(trigger: NotificationTrigger, expected: [Bool]) {
        var early = News.complete(cases: 0)
        early.exitCode = .tryLater
        let runs = [News.complete(), News.complete(cases: 0), early, News.failed(), News.alarming(cases: 0)]
        #expect(runs.map(trigger.includes) == expected)
    }

    /// As the table of runs has it: what needs no word of Apple's is booked and told of.
    @Test func aRunWithoutAppleEndedEarlyAndOneWithoutItsDatabaseFailed() {
        var withoutApple = News.complete()
        withoutApple.exitCode = .unavailable
        #expect(withoutApple.state == .endedEarly)
        #expect(News.failed(.unavailable).state == .failed)
    }
}
