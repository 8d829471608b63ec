import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// What `report.json` says of a run before its lists.
@Suite struct JSONReportTests {
    @Test func eachFigureOfARunStandsUnderItsName() throws {
        let json = try String(json: JSONReport.Run(try Sample.uneven(), "1.0"))
        for figures in [
            #""receipts":{"due":40,"left":12,"try_again":7,"unusable":3,"verified":18}"#,
            #""heard":{"notices":3,"only_apple_told":2}"#,
            #""asked":{"answered":5,"only_apple_told":1,"unanswered":4}"#,
            """
            "sources":[{"already_there":4,"name":"shop","problem":"the server is gone","refused":2,"refused_lately":6,\
            "refused_rows":[{"id":"line 7","reason":"bad_value","what":"1000: no date"}],"taken":3}]
            """,
            """
            "hearings":[{"bundle_id":"com.example.game","delivered_since":21,"heard_through":"2026-09-21T14:12:20.000Z",\
            "is_dry_spell":true,"last_signed_at":"2026-09-20T10:26:40.000Z","not_sent":9,"not_taken":7}]
            """,
            """
            "redeliveries":{"delivered":40,"failing":1,"failures":[{"bundle_id":"com.example.game",\
            "environment":"Production","is_given_up":true,"taken_at":"2026-09-21T14:12:20.000Z",\
            "transaction_id":"120000123456789012","tries":5,"user_id":"anna"}],"open":7,"ordered":2}
            """,
            """
            "not_judged":[{"bundle_id":"com.example.game","cause":"before_connected","customers":3,"money":{"USD":990},\
            "product_type":"auto_renewable","transactions":4,"unpriced":2}]
            """,
        ] {
            #expect(json.contains(figures), "\(json)")
        }
    }

    @Test func whatDidNotHappenIsLeftOut() throws {
        let json = try String(json: JSONReport.Run(Sample.run(), "1.0"))
        for name in ["heard", "asked", "redeliveries", "left_out", "reason", "trail_end"] {
            #expect(!json.contains("\"\(name)\":"), "\(json)")
        }
        var run = Sample.run()
        run.asked.unanswered = 1
        #expect(
            try String(json: JSONReport.Run(run, "1.0"))
                .contains(#""asked":{"answered":0,"only_apple_told":0,"unanswered":1}"#))
    }

    @Test func whatOthersHadLockedIsNamed() throws {
        var run = Sample.run()
        run.outcome = .endedEarly("other sessions")
        run.leftOut = LeftOut(
            transactions: [try #require(TransactionID("9")), try #require(TransactionID("10"))], receipts: 3,
            receiptIDs: [23, 17], buckets: [5, 4],
            holders: [LockHolder(processID: 4711, login: "iap_app", since: nil)])
        let json = try String(json: JSONReport.Run(run, "1.0"))
        #expect(
            json.contains(
                """
                "left_out":{"buckets":[4,5],"held_by":["session 4711 of iap_app"],"receipt_ids":[17,23],"receipts":3,\
                "transactions":["10","9"]}
                """), "\(json)")
        #expect(json.contains(#""outcome":"ended_early""#) && json.contains(#""reason":"other sessions""#))
    }

    @Test func eachCauseOfManyCasesHasItsName() throws {
        let bundleID = try #require(BundleID("com.example.game"))
        var run = Sample.run()
        run.patterns = [
            Pattern.Cause.outage, .product(try #require(ProductID("vip"))), .device(.model, "iPad14,5"), .hours,
        ].map {
            Pattern(
                $0, of: bundleID, from: Sample.now, until: $0 == .hours ? Sample.now + 3600 : nil,
                PurchaseCounts(cases: 12, customers: 6, delivered: 3))
        }
        let json = try String(json: JSONReport.Run(run, "1.0"))
        let counts = #""bundle_id":"com.example.game","cases":12"#
        let rest = #""customers":6,"delivered":3,"from":"2026-09-21T14:13:20.000Z""#
        #expect(
            json.contains(
                """
                "patterns":[{\(counts),"cause":"outage",\(rest)},\
                {\(counts),"cause":"product_never_delivered",\(rest),"product_id":"vip"},\
                {\(counts),"cause":"device",\(rest),"trait":"model","value":"iPad14,5"},\
                {\(counts),"cause":"hours",\(rest),"until":"2026-09-21T15:13:20.000Z"}]
                """), "\(json)")
    }

    @Test func eachTotalStandsUnderItsName() throws {
        #expect(
            try String(json: JSONReport.totals(try Sample.uneven().totals)) == """
                {"already_black":{"hash":"0000000000000004","transactions":10,"units":33},\
                "already_white":{"hash":"0000000000000002","transactions":5,"units":32},\
                "claimed":{"hash":"0000000000000040","transactions":4,"units":11},\
                "closing_white":{"hash":"00000000000001f0","transactions":22,"units":87},\
                "excluded":{"hash":"0000000000000008","transactions":14,"units":34},\
                "new":{"hash":"0000000000000020","transactions":9,"units":62},\
                "newly_white":{"hash":"0000000000000001","transactions":6,"units":31},\
                "opening_white":{"hash":"0000000000000010","transactions":20,"units":61},\
                "refunded":{"hash":"0000000000000100","transactions":1,"units":13},\
                "resolved":{"hash":"0000000000000080","transactions":2,"units":12},\
                "verified":{"hash":"000000000000000f","transactions":35,"units":130}}
                """)
    }
}
