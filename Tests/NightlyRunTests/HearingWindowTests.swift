import Reconciliation
import Foundation
import Testing

@testable import NightlyRun

/// For which spans of time Apple's history is asked.
@Suite struct HearingWindowTests {
    private let now = Date(timeIntervalSince1970: 1_790_000_000)
    private let day: TimeInterval = 86_400

    /// Without gaps, from the first to now.
    private func expectWhole(_ windows: [HearingWindow], from start: Date) {
        #expect(windows.first?.start == start && windows.last?.end == now)
        #expect(zip(windows, windows.dropFirst()).allSatisfy { $0.end == $1.start })
    }

    @Test func aNightReadsFromTheMarkLessADay() {
        let windows = HearingWindow.all(through: now - day, since: nil, .production, now: now)
        expectWhole(windows, from: now - 2 * day)
        #expect(windows.count == 48)
    }

    /// Cron starts some seconds later than the night before, and Apple's clock may be some minutes behind.
    @Test(arguments: [1, 1800, 3599] as [TimeInterval])
    func noWindowBeginsJustNow(later: TimeInterval) {
        let windows = HearingWindow.all(through: now - day - later, since: nil, .production, now: now)
        expectWhole(windows, from: now - 2 * day - later)
        #expect(windows.count == 48 && windows.last?.start == now - 3600 - later)
    }

    @Test func theFirstNightReadsAllThatAppleKeeps() {
        expectWhole(HearingWindow.all(through: nil, since: nil, .production, now: now), from: now - 180 * day + 7200)
        expectWhole(HearingWindow.all(through: nil, since: nil, .sandbox, now: now), from: now - 30 * day + 7200)
    }

    @Test func theFirstNightReadsNothingOfBeforeTheAppsStart() {
        expectWhole(
            HearingWindow.all(through: nil, since: now - 10 * day, .production, now: now), from: now - 10 * day)
    }

    /// A job that slept for a year, and a clock that was ahead once.
    @Test func aMarkThatLiesFarOffLosesNothingThatAppleKeeps() {
        expectWhole(
            HearingWindow.all(through: now - 400 * day, since: nil, .production, now: now),
            from: now - 180 * day + 7200)
        #expect(HearingWindow.all(through: now + 400 * day, since: nil, .production, now: now).isEmpty)
    }

    /// The latest first, so that what is read joins what was read before, and with a day that was read already.
    @Test func aStartThatIsMovedBackIsReadUpToWhereItWasReadFrom() {
        let windows = HearingWindow.earlier(than: now - 10 * day, since: now - 60 * day, .production, now: now)
        #expect(windows.count == 51 && windows.first?.end == now - 9 * day && windows.last?.start == now - 60 * day)
        #expect(zip(windows, windows.dropFirst()).allSatisfy { $0.start == $1.end })
        let toTheEnd = HearingWindow.earlier(than: now - 10 * day, since: nil, .sandbox, now: now)
        #expect(toTheEnd.last?.start == now - 30 * day + 7200)
    }

    @Test(arguments: [nil, 10, 5] as [Double?])
    func aStartThatIsNotMovedBackIsReadOnce(days: Double?) {
        let heardFrom = days.map { _ in now - 10 * day }
        let since = now - (days ?? 60) * day - 0.000_001
        #expect(HearingWindow.earlier(than: heardFrom, since: since, .production, now: now).isEmpty)
    }

    /// Apple keeps no more, and less each night.
    @Test func whatAppleNoLongerKeepsIsNotAskedFor() {
        #expect(HearingWindow.earlier(than: now - 180 * day, since: nil, .production, now: now).isEmpty)
    }
}
