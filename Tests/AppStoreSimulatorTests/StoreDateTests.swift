import Foundation
import Testing

@testable import AppStoreSimulator

@Suite struct StoreDateTests {
    private func text(_ date: Date, _ zone: StoreDate.Zone) -> String {
        var bytes: [UInt8] = []
        StoreDate(date).append(in: zone, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func writesTheMomentsOfARecordedAnswer() {
        let created = Date(unixMilliseconds: 1_409_628_546_000)
        #expect(text(created, .gmt) == "2014-09-02 03:29:06 Etc/GMT")
        #expect(text(created, .pacific) == "2014-09-01 20:29:06 America/Los_Angeles")
        #expect(text(Date(unixMilliseconds: 1_538_738_659_233), .pacific) == "2018-10-05 04:24:19 America/Los_Angeles")
    }

    @Test func agreesWithFoundationAboutPacificTime() throws {
        let zone = try #require(TimeZone(identifier: "America/Los_Angeles"))
        for day in 0..<(4 * 366) {
            let seconds = 1_700_000_000 + day * 86_400 + day % 24 * 3_600
            let date = Date(timeIntervalSince1970: Double(seconds))
            #expect(StoreDate.pacificOffset(at: seconds) == zone.secondsFromGMT(for: date))
        }
    }

    @Test(arguments: [1_741_514_399, 1_741_514_400, 1_762_073_999, 1_762_074_000])
    func changesAtTheVerySecond(_ seconds: Int) throws {
        let zone = try #require(TimeZone(identifier: "America/Los_Angeles"))
        let expected = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
        #expect(StoreDate.pacificOffset(at: seconds) == expected)
    }
}
