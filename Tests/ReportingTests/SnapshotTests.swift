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

    @Test func theCSVFileBeginsWithTheseLines() throws {
        let formats = Formats(timeZone: try #require(TimeZone(identifier: "Asia/Shanghai")))
        #expect(
            CSV.header(formats) == """
                likelihood,user,transaction_id,original_transaction_id,app,environment,product_id,product,\
                quantity,price,currency,price_is_list_price,purchased_utc,purchased Asia/Shanghai,age,reasons,\
                suggested_action,order_ids,device,verified_by,new,paid_until_utc,entitled_until_utc,case,decision,\
                note\r\n
                """)
        #expect(
            CSV.row(Sample.lostOrder(), formats, English(), now: Sample.now) == """
                high,user-1,'120000123456789012,'120000123456789012,com.example.game,Production,gold.100,一百金币,1,\
                230,JPY,yes,2026-09-20T13:13:20Z,2026-09-20 21:13:20,25 hours,never_claimed rode_along,\
                Deliver to user-1 for order order-9.,order-9,"iPhone15,3, <img src=x onerror=alert(1)>\u{FFFD}=1+1, 2.4.1",\
                verify_receipt,yes,,,com.example.game Production 120000123456789012 01234567-89abcdef,,\r\n
                """)
    }

    @Test func theFiguresAreThisJSON() throws {
        #expect(
            try ReportFigures(Sample.run()).json() == """
                {"by_likelihood":{"high":1,"low":0,"medium":0},"cases":1,"closed":0,"due":5,"money":{"JPY":230000},\
                "new":1,"now":"2026-09-21T14:13:20.000Z","pending":7,"run_id":42,\
                "time_zone":"Asia/Shanghai","unpriced":0,"verified":3}

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
