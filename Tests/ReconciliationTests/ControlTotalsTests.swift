import Reconciliation
import Testing

@Suite struct ControlTotalsTests {
    private static let one = Tally(transactions: 1, units: 3, hash: 0x1234)
    private static let other = Tally(transactions: 1, units: 3, hash: 0x4321)

    private func balanced() -> ControlTotals {
        var totals = ControlTotals()
        totals.verified = Self.one + Self.other
        totals.newlyWhite = Self.one
        totals.excluded = Self.other
        totals.openingWhite = Self.other
        totals.new = Self.one
        totals.claimed = Self.other
        totals.closingWhite = Self.one
        return totals
    }

    @Test func balanceWhenEachTransactionIsWhereItBelongs() {
        #expect(balanced().imbalances == [])
    }

    @Test func noticeATransactionThatIsMissing() {
        var totals = balanced()
        totals.excluded = Tally()
        #expect(totals.imbalances.map(\.equation) == [.verified])
        totals.claimed = Tally()
        #expect(totals.imbalances.map(\.equation) == [.verified, .white])
    }

    @Test func noticeATransactionInAnothersPlace() {
        var totals = balanced()
        totals.closingWhite = Self.other
        #expect(totals.imbalances.map(\.equation) == [.white])
        #expect(totals.imbalances.first?.description.contains("hash") == true)
    }

    @Test func noticeALostUnit() {
        var totals = balanced()
        totals.closingWhite.units -= 1
        #expect(totals.imbalances.map(\.equation) == [.white])
    }

    @Test func takeAwayWhatWasResolvedAndRefunded() {
        var totals = balanced()
        totals.openingWhite += Self.one
        totals.resolved = Self.one
        #expect(totals.imbalances == [])
        totals.openingWhite += Self.other
        totals.refunded = Self.other
        #expect(totals.imbalances == [])
    }

    @Test func addAndTakeAwayAreInverse() {
        #expect((Self.one + Self.other) - Self.other == Self.one)
    }
}
