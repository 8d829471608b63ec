import Foundation
import Reconciliation
import Testing

/// How Apple's sending of a notification goes, by what it tells of its attempts.
@Suite struct NoticeSendingTests {
    private func sending(_ results: [String], hoursLater: Double = 1) -> NoticeSending? {
        NoticeSending(
            attempts: results.enumerated().map { (Sample.noon + Double($0) * 60, $1) }, signedAt: Sample.noon,
            now: Sample.noon + hoursLater * 3600)
    }

    @Test(
        arguments: [(1, 156.9, .retrying), (5, 156.9, .retrying), (6, 100, .failed), (1, 157, .failed)]
            as [(Int, Double, NoticeSending.State)])
    func appleTriesFiveTimesAgainWithinAWeek(attempts: Int, hours: Double, state: NoticeSending.State) {
        #expect(
            sending(Array(repeating: "TIMED_OUT", count: attempts), hoursLater: hours)
                == NoticeSending(
                    state: state, attempts: attempts, lastAttemptAt: Sample.noon + Double(attempts - 1) * 60,
                    lastResult: "TIMED_OUT"))
    }

    @Test(arguments: [["SUCCESS"], ["TIMED_OUT", "SUCCESS"], ["SUCCESS", "TIMED_OUT"]])
    func whatWasTakenOnceIsSent(results: [String]) {
        #expect(sending(results)?.state == .sent && sending(results, hoursLater: 1000)?.state == .sent)
        #expect(sending(results)?.lastResult == results.last)
    }

    /// An attempt may come without its date.
    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    func theLastAttemptIsTheOneWithTheLatestDate(order: [Int]) {
        let attempts: [(Date?, String)] = [
            (nil, "OTHER"), (Sample.noon + 60, "TIMED_OUT"), (Sample.noon + 120, "NO_RESPONSE"),
        ]
        let sending = NoticeSending(
            attempts: order.map { attempts[$0] }, signedAt: Sample.noon, now: Sample.noon + 3600)
        #expect(sending?.lastAttemptAt == Sample.noon + 120 && sending?.lastResult == "NO_RESPONSE")
    }

    @Test func withoutAnAttemptNothingIsKnown() {
        #expect(sending([]) == nil)
    }
}
