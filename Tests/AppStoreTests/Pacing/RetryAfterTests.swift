import Foundation
import HTTP
import Testing

@testable import AppStore

@Suite struct RetryAfterTests {
    /// 2026-11-21 03:00:00 UTC.
    private let now = Date(timeIntervalSince1970: 1_795_230_000)

    @Test(arguments: [("0", 0.0), ("1", 1), (" 120 ", 120), ("99999999999", 99_999_999_999)])
    func readsSeconds(value: String, seconds: Double) {
        #expect(RetryAfter.seconds(value, now: now) == seconds)
    }

    @Test(arguments: [("1795230002500", 2.5), ("1795230000000", 0), ("1795229000000", 0), ("1795233600000", 3600)])
    func readsApplesUNIXTimeInMilliseconds(value: String, seconds: Double) {
        #expect(RetryAfter.seconds(value, now: now) == seconds)
    }

    @Test(arguments: [
        ("Sat, 21 Nov 2026 03:00:30 GMT", 30.0), ("Sat, 21 Nov 2026 02:59:00 GMT", 0),
        ("Sun, 22 Nov 2026 03:00:00 GMT", 86_400),
    ])
    func readsAnHTTPDate(value: String, seconds: Double) {
        #expect(RetryAfter.seconds(value, now: now) == seconds)
    }

    /// This host's clock may be minutes off.
    @Test(
        arguments: [
            ("1795230182000", "Sat, 21 Nov 2026 03:03:00 GMT", 2),
            ("Sat, 21 Nov 2026 02:57:30 GMT", "Sat, 21 Nov 2026 02:57:00 GMT", 30),
            ("7", "Sat, 21 Nov 2026 03:03:00 GMT", 7), ("1795230002500", "soon", 2.5), ("1795230002500", nil, 2.5),
        ] as [(String, String?, Double)])
    func goesByTheServersOwnClock(value: String, date: String?, seconds: Double) {
        var headers: HTTPHeaders = ["Retry-After": value]
        if let date { headers.append("Date", date) }
        #expect(RetryAfter.seconds(in: headers, now: now) == seconds)
    }

    @Test func asksForNoWaitWithoutTheHeader() {
        #expect(RetryAfter.seconds(in: ["Date": "Sat, 21 Nov 2026 03:03:00 GMT"], now: now) == nil)
    }

    @Test(arguments: [
        "", "soon", "-5", "1.5", "Sat, 21 Nov 2026", "Sat, 31 Nov 2026 03:00:30 GMT", "99999999999999999999",
    ])
    func leavesWhatItCannotRead(value: String) {
        #expect(RetryAfter.seconds(value, now: now) == nil)
    }
}
