import Foundation
import Reconciliation
import Testing

@testable import NightlyRun
@testable import Verification

/// How windows of Apple's history are read, whatever its pages are.
@Suite struct HistoryReadingTests {
    private static let now = Date(timeIntervalSince1970: 1_790_000_000)
    private static let hour: TimeInterval = 3600

    /// As many windows of an hour, up to now.
    private func windows(_ count: Int) -> [HearingWindow] {
        (0..<count).map { number in
            let end = Self.now - Double(count - number - 1) * Self.hour
            return HearingWindow(start: end - Self.hour, end: end)
        }
    }

    private static func page(next: String? = nil) -> NoticeHistory.Outcome {
        .page(NoticeHistory.Page(notices: [], unreadable: [], next: next))
    }

    /// Asks one page after the other, and gives how many were asked for; stops where it would never end.
    private func read(
        _ reading: inout HistoryReading, answer: (HistoryReading.Question) -> NoticeHistory.Outcome
    ) -> Int {
        var asked = 0
        var question = reading.next()
        while let page = question, asked < 300_000 {
            asked += 1
            question = reading.take(answer(page), of: page) ?? reading.next()
        }
        return asked
    }

    // MARK: Pages that never end

    @Test func pageTokensThatGoRoundEndTheWindow() throws {
        var reading = HistoryReading(windows(1))
        let asked = read(&reading) { Self.page(next: $0.token == "A" ? "B" : "A") }
        #expect(asked < 10)
        #expect(try #require(reading.problem).contains("once more"))
    }

    /// A window may have a hundred thousand notices, and none of its pages is the same.
    @Test func emptyPagesWithoutEndEndTheWindow() throws {
        var reading = HistoryReading(windows(1))
        var number = 0
        let asked = read(&reading) { _ in
            number += 1
            return Self.page(next: "token \(number)")
        }
        #expect(asked <= 3000)
        #expect(try #require(reading.problem).contains("nothing"))
    }

    /// Begun anew once, and then as a window that fails.
    @Test func aPageThatNamesNoNextEndsTheWindow() throws {
        let windows = windows(2)
        var reading = HistoryReading(windows)
        let asked = read(&reading) { question in
            guard question.window == windows[1] else { return Self.page() }
            return .page(NoticeHistory.Page(notices: [], unreadable: [], isCutOff: true))
        }
        #expect(asked == 3)
        #expect(try #require(reading.problem).contains("not where"))
        #expect(reading.batch(isLast: true)?.heardThrough == windows[0].end)
    }

    /// Read again from its first page, a window gives the same tokens.
    @Test func aWindowThatIsBegunAnewIsReadToItsEnd() {
        var reading = HistoryReading(windows(1))
        var isFirst = true
        let asked = read(&reading) { question in
            switch question.token {
            case nil: return Self.page(next: "A")
            case "A": return Self.page(next: "B")
            default:
                defer { isFirst = false }
                return isFirst ? .pageTokenRefused : Self.page()
            }
        }
        #expect(asked == 6 && reading.problem == nil)
        #expect(reading.batch(isLast: true)?.heardThrough == Self.now)
    }

    // MARK: Windows that fail

    /// What lies behind it is heard; the mark stays before it, so that the next night asks for it again.
    @Test func aWindowThatFailsHoldsUpNoOther() {
        let windows = windows(5)
        var reading = HistoryReading(windows)
        var read: [HearingWindow] = []
        _ = self.read(&reading) { question in
            if question.window == windows[1] { return .problem("it can't be read") }
            read.append(question.window)
            return Self.page()
        }
        #expect(read == [windows[0], windows[2], windows[3], windows[4]])
        #expect(reading.problem == "it can't be read")
        #expect(reading.batch(isLast: true)?.heardThrough == windows[0].end)
    }

    @Test func backwardTheMarkStaysBehindAWindowThatFails() {
        let windows = Array(windows(5).reversed())
        var reading = HistoryReading(windows, isBackward: true)
        _ = read(&reading) { $0.window == windows[3] ? .problem("it can't be read") : Self.page() }
        let batch = reading.batch(isLast: true)
        #expect(batch?.heardFrom == windows[2].start && batch?.heardThrough == nil)
    }

    @Test func severalWindowsInARowThatFailEndTheReading() {
        var reading = HistoryReading(windows(20))
        let asked = read(&reading) { _ in .problem("an error") }
        // Each is begun anew once.
        #expect(asked == 6 && reading.problem == "an error")
    }

    @Test(arguments: [NoticeHistory.Outcome.needsConfiguration("the key"), .notTried])
    func whatNoOtherWindowMendsEndsTheReading(outcome: NoticeHistory.Outcome) {
        var reading = HistoryReading(windows(20))
        #expect(read(&reading) { _ in outcome } == 1)
        #expect(reading.problem != nil)
    }
}
