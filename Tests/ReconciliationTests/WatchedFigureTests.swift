import Foundation
import Reconciliation
import Testing

/// From where on a figure is told of first.
@Suite struct WatchedFigureTests {
    private static let now = Date(timeIntervalSince1970: 1_790_000_000)

    private func alerts(
        _ figures: (inout AppFigures) -> Void = { _ in }, hearing: HearingFigures? = nil,
        _ thresholds: (inout Thresholds) -> Void
    ) throws -> [String] {
        var app = App(
            bundleID: try #require(BundleID("com.example.game")), environment: .production, grace: Grace(0),
            since: nil)
        thresholds(&app.thresholds)
        var found = AppFigures(bundleID: app.bundleID)
        figures(&found)
        return WatchedFigure.all(of: app, found, hearing: hearing, now: Self.now).filter(\.isAlert).map(\.name)
    }

    private static let dollars = CurrencyCode("USD")!
    private static let yen = CurrencyCode("JPY")!

    @Test func nothingIsWatchedUnlessItIsNamed() throws {
        #expect(
            try alerts({
                $0.unitsMissing = 1000
                $0.lost = 10
                $0.purchases = 10
                $0.oldestCase = .distantPast
                $0.redeliveriesFailing = 10
                $0.money = [Money(milliunits: 1_000_000, currency: Self.dollars)]
            }) { _ in } == [])
    }

    @Test(arguments: [(49, false), (50, true), (51, true)])
    func unitsMissing(units: Int, isAlert: Bool) throws {
        #expect(try alerts({ $0.unitsMissing = units }) { $0.unitsMissing = 50 } == (isAlert ? ["units_missing"] : []))
    }

    /// Where nothing was bought nothing is lost, however low the threshold.
    @Test(arguments: [
        (0, 0, 0.0, false), (0, 9, 0.0, false), (1, 100, 0.02, false), (2, 100, 0.02, true), (1, 1, 1.0, true),
        (7, 100, 0.07, true),
    ])
    func shareLost(lost: Int, purchases: Int, threshold: Double, isAlert: Bool) throws {
        let found = try alerts({ ($0.lost, $0.purchases) = (lost, purchases) }) { $0.shareLost = threshold }
        #expect(found == (isAlert ? ["share_lost"] : []))
    }

    @Test func moneyOfAnotherCurrencyIsNoMoney() throws {
        let threshold = Money(milliunits: 500_000, currency: Self.dollars)
        for (money, isAlert) in [
            ([], false), ([Money(milliunits: 9_000_000, currency: Self.yen)], false),
            ([Money(milliunits: 499_999, currency: Self.dollars)], false),
            (
                [Money(milliunits: 1, currency: Self.yen), Money(milliunits: 500_000, currency: Self.dollars)], true
            ),
        ] {
            #expect(try alerts({ $0.money = money }) { $0.moneyLost = threshold } == (isAlert ? ["money_lost"] : []))
        }
    }

    /// Without a case nothing is old; one from the future is not, either.
    @Test(
        arguments: [
            (nil, 86_400, false), (-1, 86_400, false), (86_399, 86_400, false), (86_400, 86_400, true), (nil, 0, false),
            (1, 0, true),
        ] as [(TimeInterval?, TimeInterval, Bool)])
    func oldestCase(age: TimeInterval?, threshold: TimeInterval, isAlert: Bool) throws {
        let found = try alerts({ $0.oldestCase = age.map { Self.now - $0 } }) { $0.oldestCase = threshold }
        #expect(found == (isAlert ? ["oldest_case"] : []))
    }

    @Test func redeliveriesThatFail() throws {
        #expect(try alerts({ $0.redeliveriesFailing = 4 }) { $0.redeliveriesFailing = 5 } == [])
        #expect(
            try alerts({ $0.redeliveriesFailing = 5 }) { $0.redeliveriesFailing = 5 } == ["redeliveries_failing"])
    }

    private func hearing(
        lastHoursAgo hours: Double?, deliveredSince: Int, problem: String? = nil
    ) throws -> HearingFigures {
        HearingFigures(
            bundleID: try #require(BundleID("com.example.game")), heardThrough: nil,
            lastSignedAt: hours.map { Self.now - $0 * 3600 }, problem: problem, notTaken: [], unsent: 0, whyUnsent: nil,
            deliveredSince: deliveredSince)
    }

    @Test func whatCouldNotBeReadIsNoDrySpell() throws {
        let unread = try hearing(lastHoursAgo: 48, deliveredSince: 20, problem: "Apple is down")
        #expect(try alerts(hearing: unread) { _ in } == [])
    }

    /// A quiet day is none, and neither are the deliveries of a busy morning.
    @Test(
        arguments: [(48, 20, true), (48, 19, false), (24, 20, false), (nil, 20, false)] as [(Double?, Int, Bool)])
    func aDrySpellIsADayWithManyDeliveriesAndNoNotification(hours: Double?, delivered: Int, isOne: Bool) throws {
        let hearing = try hearing(lastHoursAgo: hours, deliveredSince: delivered)
        #expect(try alerts(hearing: hearing) { _ in } == (isOne ? ["dry_spell"] : []))
    }

    @Test func aDrySpellIsToldUnlessItIsTurnedOff() throws {
        let dry = try hearing(lastHoursAgo: 48, deliveredSince: 20)
        #expect(try alerts(hearing: dry) { _ in } == ["dry_spell"])
        #expect(try alerts(hearing: dry) { $0.drySpell = false } == [])
        #expect(try alerts { _ in } == [])
    }
}
