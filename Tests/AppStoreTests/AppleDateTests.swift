import Foundation
import Testing

@testable import AppStore

@Suite struct AppleDateTests {
    @Test(arguments: [
        ("2012-04-30 15:05:55 Etc/GMT", 1_335_798_355.0), ("2016-02-29 00:00:00 Etc/GMT", 1_456_704_000),
        ("1970-01-01 00:00:01 Etc/GMT", 1), ("2000-12-31 23:59:59 Etc/GMT", 978_307_199),
        ("2012-04-30T15:05:55Z", 1_335_798_355), ("2012-04-30T15:05:55.123Z", 1_335_798_355),
        ("1335798355123", 1_335_798_355.123), ("1697679936049.7297", 1_697_679_936.049),
        ("1335798355000.5", 1_335_798_355),
        ("4001-01-01 00:00:00 Etc/GMT", 64_092_211_200),
    ])
    func reads(text: String, seconds: Double) {
        #expect(AppleDate.text(text) == Date(timeIntervalSince1970: seconds))
    }

    @Test(arguments: [
        "", " ", "yesterday", "2012-04-30", "2015-02-29 00:00:00 Etc/GMT", "2012-13-01 00:00:00 Etc/GMT",
        "2012-04-30 25:05:55 Etc/GMT", "2012-04-30 15:05:55 America/Los_Angeles", "1969-12-31 00:00:00 Etc/GMT",
        "-1", "253402300800000", "9223372036854775807", "99999999999999999999", "2012-04-30 15:05:5é Etc/GMT",
        "1335798355123.", ".5", "1335798355123.x", "1335798355123.4.5", "-1.5", "２０１２-04-30 15:05:55 Etc/GMT",
        "2012/04/30 15:05:55 Etc/GMT", "0", "0.5", "1970-01-01 00:00:00 Etc/GMT", "1970-01-01T00:00:00Z",
    ])
    func refuses(text: String) {
        #expect(AppleDate.text(text) == nil)
    }

    @Test func agreesWithFoundationOnEveryMonth() throws {
        for month in 0..<(12 * 130) {
            let date = Date(timeIntervalSince1970: 40_000 + Double(month) * 2_629_746).formatted(.iso8601)
            #expect(AppleDate.text(date) == (try Date(date, strategy: .iso8601)))
        }
    }
}
