import Foundation
import Reconciliation
import Testing

@testable import Reporting

@Suite struct HistoryTextTests {
    private static let night = Date(timeIntervalSince1970: 1_790_000_000)

    private func run(_ id: Int64, open: Int, money: [Money] = [], unpriced: Int = 0) -> PastRun {
        PastRun(
            runID: id, now: Self.night + Double(id) * 86_400, state: .complete, exitCode: 0, reason: nil,
            receipts: ReceiptCounts(due: 10, verified: 9),
            cases: CaseCounts(
                byLikelihood: [.high: open], new: 2, reopened: 1, closed: [.delivered: 4], money: money,
                unpriced: unpriced),
            pending: 5)
    }

    @Test func runsStandInLinesWithABarForWhatIsOpen() throws {
        let dollars = Money(milliunits: 12_340, currency: try #require(CurrencyCode("USD")))
        let euros = Money(milliunits: 990, currency: try #require(CurrencyCode("EUR")))
        let early = PastRun(
            runID: 3, now: Self.night + 3 * 86_400, state: .endedEarly, exitCode: 75, reason: "Apple is\u{1B} down",
            receipts: ReceiptCounts(due: 10), cases: nil, pending: 0)
        let text = HistoryText(timeZone: .gmt).text(of: [
            run(1, open: 100, money: [euros, dollars]), run(2, open: 1), early,
        ])
        #expect(
            text == """
                Times are of GMT.

                run  night                open                        new  reopened  closed  pending  verified  end  paid, not delivered
                  1  2026-09-22 14:13:20   100  ████████████████████    2         1       4        5      9/10  0    0.99 EUR, 12.34 USD
                  2  2026-09-23 14:13:20     1  ▏                       2         1       4        5      9/10  0
                  3  2026-09-24 14:13:20                                                                  0/10  75

                run 3: Apple is\u{FFFD} down

                """)
        #expect(HistoryText(timeZone: .gmt).text(of: []) == "No run yet.\n")
    }

    @Test func casesWithoutAPriceStandBesideTheMoneyThatLeavesThemOut() throws {
        let dollars = Money(milliunits: 990, currency: try #require(CurrencyCode("USD")))
        let mixed = run(1, open: 5, money: [dollars], unpriced: 3)
        let lines = HistoryText(timeZone: .gmt).text(of: [mixed, run(2, open: 1, unpriced: 1)]).split(separator: "\n")
        #expect(lines.dropFirst(2).first?.hasSuffix("  0.99 USD, 3 without a price") == true)
        #expect(lines.last?.hasSuffix("  0    1 without a price") == true)
        let json = try HistoryJSON.text(of: [mixed])
        #expect(json.contains(#""unpriced":3"#))
    }

    @Test func eachFigureOfARunStandsUnderItsNameInJSON() throws {
        let run = PastRun(
            runID: 3, now: Self.night, state: .endedEarly, exitCode: 75, reason: "Apple is down",
            receipts: ReceiptCounts(due: 20, verified: 9, tryAgain: 4, unusable: 1),
            cases: CaseCounts(
                byLikelihood: [.high: 6, .low: 11], new: 3, reopened: 2, closed: [.delivered: 5],
                money: [Money(milliunits: 990, currency: try #require(CurrencyCode("USD")))], unpriced: 8),
            pending: 12)
        let failed = PastRun(
            runID: 4, now: Self.night, state: .failed, exitCode: nil, reason: nil, receipts: ReceiptCounts(),
            cases: nil, pending: 0)
        #expect(
            try HistoryJSON.text(of: [run, failed]) == """
                {"runs":[{"by_likelihood":{"high":6,"low":11},"closed":{"delivered":5},"due":20,"exit_code":75,\
                "money":{"USD":990},"new":3,"now":"2026-09-21T14:13:20.000Z","pending":12,"reason":"Apple is down",\
                "reopened":2,"run_id":3,"state":"ended_early","try_again":4,"unpriced":8,"unusable":1,"verified":9},\
                {"due":0,"now":"2026-09-21T14:13:20.000Z","run_id":4,"state":"failed","try_again":0,"unusable":0,\
                "verified":0}]}
                """)
    }

    /// A case that was opened, one that was closed, and one that is judged otherwise.
    private func differences() throws -> CaseDifferences {
        func key(_ id: String) throws -> TransactionKey {
            TransactionKey(
                id: try #require(TransactionID(id)), bundleID: try #require(BundleID("com.example.game")),
                environment: .production)
        }
        let high = CaseDifference.Judgement(
            likelihood: .high, reasons: [.claimFailed, .orderMatched], ownerUserIDs: ["anna"])
        let low = CaseDifference.Judgement(likelihood: .low, reasons: [.rodeAlong, .orderMatched], ownerUserIDs: [])
        let closing = CaseDifference.Closing(how: "refunded", who: "iap-reconcile", at: Self.night)
        return CaseDifferences(
            from: RunMoment(runID: 3, now: Self.night), to: RunMoment(runID: 5, now: Self.night + 86_400),
            cases: [
                CaseDifference(key: try key("7"), change: .opened(high)),
                CaseDifference(key: try key("8"), change: .closed(closing, was: low)),
                CaseDifference(key: try key("9"), change: .judgedOtherwise(from: low, to: high)),
            ])
    }

    @Test func programsReadHowTwoRunsDiffer() throws {
        let name = #""bundle_id":"com.example.game","environment":"Production""#
        let high = #"{"likelihood":"high","owner_user_ids":["anna"],"reasons":["claim_failed","order_matched"]}"#
        let low = #"{"likelihood":"low","owner_user_ids":[],"reasons":["rode_along","order_matched"]}"#
        #expect(
            try HistoryJSON.text(of: try differences()) == """
                {"closed":[{"at":"2026-09-21T14:13:20.000Z","bundle_id":"com.example.game","by":"iap-reconcile",\
                "environment":"Production","how":"refunded","transaction_id":"8","was":\(low)}],\
                "from":{"now":"2026-09-21T14:13:20.000Z","run_id":3},\
                "judged_otherwise":[{\(name),"judgement":\(high),"transaction_id":"9","was":\(low)}],\
                "opened":[{\(name),"judgement":\(high),"transaction_id":"7"}],\
                "to":{"now":"2026-09-22T14:13:20.000Z","run_id":5}}
                """)
    }

    @Test func twoRunsDifferByWhatIsOpenedClosedAndJudgedOtherwise() throws {
        let differences = try differences()
        #expect(
            DifferenceText(timeZone: .gmt).text(of: differences) == """
                From run 3 (2026-09-21 14:13:20) to run 5 (2026-09-22 14:13:20), in times of GMT: 1 opened, 1 closed, \
                1 judged otherwise.

                Opened

                transaction  app               environment  likelihood
                7            com.example.game  Production   high        claim failed, order matched

                Closed

                transaction  app               environment  likelihood
                8            com.example.game  Production   low         refunded by iap-reconcile 2026-09-21 14:13:20

                Judged otherwise

                transaction  app               environment  likelihood
                9            com.example.game  Production   low → high  now: claim failed, no longer: rode along, \
                owner: nobody known → anna

                """)
    }
}
