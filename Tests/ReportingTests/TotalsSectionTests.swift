import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// The control totals on the page.
@Suite struct TotalsSectionTests {
    private func shown(_ run: RunReport) -> String {
        TotalsSection(run: run, readers: Readers(.english, timeZone: .gmt)).html.text
    }

    @Test func eachFigureHasItsNameAndItsSign() throws {
        let totals = try Sample.uneven().totals
        let received = TotalsSection.Term.received(totals)
        #expect(received.map(\.name) == [.verified, .newlyWhite, .alreadyWhite, .alreadyBlack, .excluded])
        #expect(received.map { "\($0.sign)\($0.tally.transactions)" } == ["35", "=6", "+5", "+10", "+14"])
        let white = TotalsSection.Term.white(totals)
        #expect(white.map(\.name) == [.openingWhite, .new, .claimed, .resolved, .refunded, .closingWhite])
        #expect(white.map { "\($0.sign)\($0.tally.transactions)" } == ["20", "+9", "−4", "−2", "−1", "=22"])
    }

    @Test func transactionsUnitsAndHashStandBesideEachOther() throws {
        let figures = shown(try Sample.uneven()).matches(of: /<td class="figure">([^<]+)<\/td>/).map { String($0.1) }
        #expect(figures.starts(with: ["35", "130", "6", "31"]), "\(figures)")
        #expect(shown(try Sample.uneven()).contains("<code>000000000000000f</code>"))
    }

    @Test func whatDoesNotBalanceIsNoGoodNews() throws {
        var run = try Sample.uneven()
        #expect(shown(run).contains("<p class=\"good\">"))
        run.totals.refunded.hash = 0
        #expect(shown(run).contains("<p class=\"early\">") && !shown(run).contains("<p class=\"good\">"))
    }
}
