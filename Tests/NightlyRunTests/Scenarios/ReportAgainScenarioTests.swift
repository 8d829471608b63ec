import Foundation
import Job
import Reconciliation
import Testing
import Verification

/// A report that is written again says all that it said when the night wrote it.
@Suite struct ReportAgainScenarioTests {
    private static let day: TimeInterval = 86_400

    private func expectTheSame(_ told: RunReport, _ play: Play) async throws {
        var again = try await play.reportAgain()
        // The night had not ended when it told of itself, and PostgreSQL keeps microseconds.
        again.startedAt = told.startedAt
        again.finishedAt = told.finishedAt
        again.stages = told.stages
        #expect(again == told)
    }

    @Test func itSaysWhatWasHeardAndAsked() async throws {
        try await withPlay(hasKey: true, notices: NoticeScenarioTests.allTaken) { play in
            var play = play
            play.settings.apps[0].reasking = Reasking(window: 90 * Self.day, interval: 7 * Self.day)
            let bought = play.buy("2000000000003501", hoursAgo: 30)
            try await play.upload(play.receipt([bought]), for: bought)
            let first = try await play.night().report
            #expect(first.heard?.fresh == 1)
            try await expectTheSame(first, play)
            #expect(try await play.claim(bought) == "delivered")
            _ = try await play.night(2)
            let later = try await play.night(9).report
            #expect(later.asked.asked == 1)
            try await expectTheSame(later, play)
        }
    }

    /// What the desk takes back since is the next run's to tell.
    @Test func whatWasReopenedSinceStaysNew() async throws {
        try await withPlay { play in
            let bought = play.buy("2000000000003502", hoursAgo: 30)
            try await play.upload(play.receipt([bought]), for: bought)
            let first = try await play.night().report
            #expect(first.cases.new == 1 && first.cases.reopened == 0)
            for decision in [Resolution.Decision.dismissed, .reopened] {
                #expect(try await play.decide(decision, bought) == .done)
            }
            #expect(try await play.reportAgain().cases == first.cases)
            let second = try await play.night(2).report
            #expect(second.cases.new == 0 && second.cases.reopened == 1)
            #expect(try await play.reportAgain().cases == second.cases)
        }
    }
}
