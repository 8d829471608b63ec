import Foundation
import Reconciliation
import Testing

/// What is expected of an app's server, by its configuration and by what it has done so far.
@Suite struct ExpectedDeliveryTests {
    private let bundleID: BundleID
    private let first = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        bundleID = try #require(BundleID("com.example.game"))
    }

    private func expected(
        _ delivery: [ProductType: DeliveryMode] = [:], since: Date? = nil, claims: [ProductType?: Date] = [:],
        entitledSince: Date? = nil
    ) -> [ProductType?: ExpectedDelivery] {
        let app = App(
            bundleID: bundleID, environment: .production, grace: Grace(3600, byType: [.autoRenewable: 60]),
            since: since, delivery: delivery)
        var connections = Connections(claims: [bundleID: claims])
        connections.entitlements[bundleID] = entitledSince
        return Dictionary(uniqueKeysWithValues: app.expectedDeliveries(connections).map { ($0.productType, $0) })
    }

    @Test func whoNeverDeliveredAnythingIsNotConnected() {
        let expected = self.expected()
        #expect(expected.count == ProductType.allCases.count + 1)
        #expect(expected.values.allSatisfy { $0.mode == nil })
        #expect(expected[.autoRenewable]?.grace == 60 && expected[.consumable]?.grace == 3600)
    }

    @Test func theFirstClaimConnectsItsTypeFromThatMomentOn() {
        let expected = self.expected(claims: [.consumable: first, .nonConsumable: first + 10])
        #expect(expected[.consumable]?.mode == .claim && expected[.consumable]?.from == first)
        #expect(expected[.nonConsumable]?.from == first + 10)
        #expect(expected[.autoRenewable]?.mode == nil && expected[.nonRenewing]?.mode == nil)
        // What nobody knows the type of is one of those that are claimed.
        #expect(expected[.none]?.mode == .claim && expected[.none]?.from == first)
    }

    @Test func whatWasClaimedWhenNobodyKnewItsTypeConnectsAllButSubscriptions() {
        let expected = self.expected(claims: [.none: first])
        #expect(expected[.consumable]?.mode == .claim && expected[.nonRenewing]?.from == first)
        #expect(expected[.autoRenewable]?.mode == nil)
    }

    /// It may have been claimed under its type before or after its type was known.
    @Test(arguments: [0.0, 20])
    func theEarlierOfAClaimOfTheTypeAndOfAnUnknownOneCounts(later: TimeInterval) {
        let expected = self.expected(claims: [.consumable: first + later, .none: first + 10])
        #expect(expected[.consumable]?.from == first + min(later, 10))
        #expect(expected[.none]?.from == first + min(later, 10) && expected[.nonRenewing]?.from == first + 10)
    }

    @Test func aClaimedSubscriptionIsNoClaimOfAnythingElse() {
        let expected = self.expected(claims: [.autoRenewable: first])
        #expect(expected[.autoRenewable]?.mode == .claim)
        #expect(expected[.none]?.mode == nil && expected[.consumable]?.mode == nil)
    }

    @Test func theFirstEntitlementConnectsSubscriptions() {
        let expected = self.expected(claims: [.autoRenewable: first + 5], entitledSince: first + 10)
        #expect(expected[.autoRenewable]?.mode == .entitlement && expected[.autoRenewable]?.from == first + 5)
        #expect(expected[.consumable]?.mode == nil)
    }

    @Test func sinceSaysFromWhenOn() {
        let expected = self.expected(since: first - 100, claims: [.nonConsumable: first], entitledSince: first)
        #expect(expected[.nonConsumable]?.from == first - 100 && expected[.autoRenewable]?.from == first - 100)
        #expect(expected[.consumable]?.mode == .claim && expected[.none]?.mode == .claim)
        #expect(self.expected(since: first)[.autoRenewable]?.mode == nil)
    }

    @Test func theConfigurationDecides() {
        let expected = self.expected(
            [.consumable: .ignore, .autoRenewable: .claim, .nonConsumable: .entitlement], claims: [.consumable: first],
            entitledSince: first)
        #expect(expected[.consumable]?.mode == .ignore && expected[.none]?.mode == .ignore)
        #expect(expected[.autoRenewable]?.mode == .claim && expected[.autoRenewable]?.from == .distantPast)
        #expect(expected[.nonConsumable]?.mode == .entitlement)
    }
}

/// What the customer of a subscription lacks, and how likely that is a lost order.
@Suite struct SubscriptionTests {
    private func period(
        isRunning: Bool = false, isTrial: Bool = false, isGrantedLate: Bool = false
    ) throws -> Subscription.Period {
        Subscription.Period(
            id: try #require(TransactionID("1")), isRunning: isRunning, isTrial: isTrial, isGrantedLate: isGrantedLate)
    }

    private func assess(_ periods: [Subscription.Period], age: TimeInterval = 1_000_000) throws -> Assessment {
        var facts = CaseFacts(
            key: TransactionKey(
                id: try #require(TransactionID("1")), bundleID: try #require(BundleID("com.example.game")),
                environment: .production),
            productID: try #require(ProductID("vip")), productType: .autoRenewable, isProductKnown: true, quantity: 1,
            purchasedAt: .distantPast, nightsConfirmed: 3, age: age)
        facts.admittedFor = "ann"
        facts.subscription = Subscription(periods: periods)
        return Assessment(of: facts)
    }

    @Test func paidNowAndWithoutAccessIsHigh() throws {
        let found = try assess([period(isTrial: true), period(isGrantedLate: true), period(isRunning: true)])
        #expect(found.likelihood == .high && found.reasons == [.withoutAccess])
        #expect(found.owner == .user("ann") && found.action == .deliver)
    }

    /// The customer pays meanwhile.
    @Test func paidNowAndWithoutAccessIsHighWhateverMayStillArrive() throws {
        let found = try assess([period(isRunning: true)], age: 3600)
        #expect(found.likelihood == .high && found.reasons == [.withoutAccess, .mayStillArrive])
    }

    @Test func aGapInThePastIsMedium() throws {
        let found = try assess([period(), period(isGrantedLate: true)])
        #expect(found.likelihood == .medium && found.reasons == [.accessGap])
    }

    @Test func whatWasGrantedLaterIsLow() throws {
        let found = try assess([period(isGrantedLate: true), period(isTrial: true)])
        #expect(found.likelihood == .low && found.reasons == [.grantedLate])
    }

    @Test func aTrialAloneIsLowEvenWhileItRuns() throws {
        let found = try assess([period(isRunning: true, isTrial: true)])
        #expect(found.likelihood == .low && found.reasons == [.trialOnly])
    }
}
