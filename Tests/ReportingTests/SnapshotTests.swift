import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// What people and scripts get of a run, byte for byte.
@Suite struct SnapshotTests {
    @Test func theSummaryIsThisText() throws {
        var run = Sample.run()
        run.purged = Purged(payloads: 12, devices: 3)
        run.trail = AuditTrail(entries: 7, end: "3044f3e1522a")
        run.sales = try Sample.salesFigures()
        var summary = Summary(run: run, formats: Formats(timeZone: run.timeZone))
        summary.add(Sample.lostOrder())
        summary.unusable = 1
        summary.unverified = 2
        summary.suspicious = 3
        #expect(
            summary.text(location: "/srv/reports/2026-09-21-run-42") == """
                iap-reconcile: run 42

                outcome             complete: everything due was tried
                as of               2026-09-21T14:13:20Z (2026-09-21 22:13:20 Asia/Shanghai)
                receipts            5 due: 3 verified, 1 to try again, 1 unusable, 0 not tried
                listed              1 of thirty days that could not be used (some are still tried again), 2 not \
                verified yet, 3 suspicious
                purged              12 payloads, 3 devices of receipts long settled

                likely lost orders  1 (1 high, 0 medium, 0 low)
                since the last run  1 new, 0 still open, 0 reopened, 0 closed
                money               230 JPY
                oldest              2026-09-20 21:13:20, 25 hours ago
                pending             7 within their grace, not counted as lost
                sold against seen   1204 units sold, 1203 seen on 29 days to 2026-10-29: 2 sold and never seen, 1 seen and not sold

                  high    120000123456789012  gold.100  230 JPY  2026-09-20 21:13:20  user-1

                control totals      verified 3 = newly white 1 + already white 0 + already black 2 + excluded 0: OK
                                    opening white 0 + new 1 − claimed 0 − resolved 0 − refunded 0 = closing white 1: OK
                trail               entries: 7, its end 3044f3e1522a

                report              /srv/reports/2026-09-21-run-42

                """)
    }

    @Test func eachFigureOfTheSummaryHasItsPlace() throws {
        let run = try Sample.uneven()
        var summary = Summary(run: run, formats: Formats(timeZone: run.timeZone))
        (summary.unusable, summary.unverified, summary.suspicious) = (13, 14, 15)
        #expect(
            summary.text(location: "/srv/reports/2026-09-21-run-42") == """
                iap-reconcile: run 42

                outcome             complete: everything due was tried, 12 receipts of it by runs beside this one
                as of               2026-09-21T14:13:20Z (2026-09-21 22:13:20 Asia/Shanghai)
                heard               3 new notices of Apple's; 2 purchases that only Apple told of
                asked again         5 customers and deliveries; 1 purchase that only Apple told of; 4 not answered, and \
                asked again
                not heard           Apple's last notification of com.example.game is of 2026-09-20 18:26:40, and 21 \
                purchases were delivered since: look at the URL for server notifications in App Store Connect, and at \
                what the app's server answers there
                not heard           Notifications of com.example.game that Apple could not send in three days: 9 \
                (TIMED_OUT). Look at what the app's server answers.
                not heard           Notifications in Apple's history of com.example.game that were not taken, and are \
                kept: 2 (not signed)
                not heard           Notifications that the server of com.example.game handed on and that were not \
                taken: 5 (too long)
                source              shop: 3 taken, 4 already there, 2 refused; not to its end: the server is gone
                                    line 7: 1000: no date
                                    … and 5 more that could not be taken, by now or before; see report.json
                not looked at       com.example.game, auto-renewable subscriptions: what was paid before its server \
                began to say what it delivers (purchases: 4, customers: 3, 0.99 USD, 2 without a price) is not looked \
                at. Set “since” in its section to look at them.
                receipts            40 due: 18 verified, 7 to try again, 3 unusable, 12 tried by others
                listed              13 of thirty days that could not be used (some are still tried again), 14 not \
                verified yet, 15 suspicious

                likely lost orders  25 (12 high, 8 medium, 5 low)
                since the last run  3 new, 20 still open, 2 reopened, 23 closed (6 delivered, 1 dismissed, 9 refunded, \
                7 withdrawn)
                money               230 JPY, 4 without a price
                oldest              2026-09-20 21:13:20, 25 hours ago
                pending             7 within their grace, not counted as lost
                redeliveries        40 delivered so, 2 ordered, 7 open; 1 keep failing
                                    120000123456789012 of anna: taken 5 times and not claimed, given up
                  … and 25 more

                control totals      verified 35 = newly white 6 + already white 5 + already black 10 + excluded 14: OK
                                    opening white 20 + new 9 − claimed 4 − resolved 2 − refunded 1 = closing white 22: OK

                report              /srv/reports/2026-09-21-run-42

                """)
    }

    @Test func totalsThatDoNotBalanceAreCalledThat() throws {
        var run = Sample.run()
        func verdicts() -> [String] {
            Summary(run: run, formats: Formats(timeZone: .gmt)).text(location: "x").matches(of: /\d: ([A-Z ]+)\n/)
                .map { String($0.1) }
        }
        #expect(verdicts() == ["OK", "OK"])
        run.totals.excluded.transactions = 1
        #expect(verdicts() == ["DOES NOT BALANCE", "OK"])
        run.totals.claimed.units = 1
        #expect(verdicts() == ["DOES NOT BALANCE", "DOES NOT BALANCE"])
        run.totals.excluded.transactions = 0
        #expect(verdicts() == ["OK", "DOES NOT BALANCE"])
    }

    @Test func theCSVFileBeginsWithTheseLines() throws {
        let formats = Formats(timeZone: try #require(TimeZone(identifier: "Asia/Shanghai")))
        #expect(
            CSV.header(formats) == """
                likelihood,user,transaction_id,original_transaction_id,app,environment,product_id,product,\
                quantity,price,currency,price_is_list_price,purchased_utc,purchased Asia/Shanghai,age,reasons,\
                suggested_action,order_ids,device,verified_by,new,periods,paid_until_utc,entitled_until_utc,case,decision,\
                note\r\n
                """)
        #expect(
            CSV.row(Sample.lostOrder(), formats, English(), now: Sample.now) == """
                high,user-1,'120000123456789012,'120000123456789012,com.example.game,Production,gold.100,一百金币,1,\
                230,JPY,yes,2026-09-20T13:13:20Z,2026-09-20 21:13:20,25 hours,never_claimed rode_along,\
                Deliver to user-1 for order order-9.,order-9,"iPhone15,3, <img src=x onerror=alert(1)>\u{FFFD}=1+1, 2.4.1",\
                verify_receipt,yes,,,,com.example.game Production 120000123456789012 01234567-89abcdef,,\r\n
                """)
    }

    @Test func theFiguresAreThisJSON() throws {
        #expect(
            try ReportFigures(try Sample.uneven()).json() == """
                {"by_likelihood":{"high":12,"low":5,"medium":8},"cases":25,"closed":23,"due":40,\
                "money":{"JPY":230000},"new":3,"now":"2026-09-21T14:13:20.000Z","pending":7,"run_id":42,\
                "time_zone":"Asia/Shanghai","unpriced":4,"verified":18}

                """)
    }

    /// The list of all reports has those that were written before it was told how many were closed or have no price.
    @Test func figuresWithoutTheClosedOrUnpricedAreReadToo() throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let text = try ReportFigures(Sample.run()).json()
            let older = text.replacing("\"closed\":0,", with: "").replacing("\"unpriced\":0,", with: "")
            for written in [text, older] {
                try written.write(toFile: "\(folder)/figures.json", atomically: true, encoding: .utf8)
                let read = try #require(ReportFigures.read(folder))
                #expect(read.cases == 1 && read.closed == (written == text ? 0 : nil))
                #expect(read.unpriced == read.closed)
            }
        }
    }
}
