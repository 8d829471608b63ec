import Foundation
import Testing

@testable import AppStoreSimulator
@testable import SimulatedWorld

/// Worlds in which Apple tells some apps of what they sold.
@Suite struct WorldKeysTests {
    private static let keys: Set = ["com.example.game", "com.example.reader"]

    private func world(
        seed: UInt64 = 7, customers: Int = 1_000, nights: Int = 20, keys: Set<String> = keys
    ) throws -> World {
        World(try WorldSettings(seed: seed, customers: customers, nights: nights, keys: keys))
    }

    /// Seeds of old keep their figures; a world that is changed on purpose has another fingerprint.
    @Test func withoutKeysAWorldIsWhatItWas() throws {
        let truth = try world(customers: 400, keys: []).truth().json()
        #expect(StableHash.of(truth) == 16_417_431_639_848_405_070)
    }

    @Test func keysChangeOnlyWhatAppleDoes() throws {
        let (with, without) = (try world(customers: 300).events, try world(customers: 300, keys: []).events)
        #expect(with.uploads.map(\.content) == without.uploads.map(\.content))
        #expect(with.claims.map(\.transaction) == without.claims.map(\.transaction))
        #expect(with.orders.map(\.id) == without.orders.map(\.id))
        #expect(with.grants.map(\.at) == without.grants.map(\.at))
        #expect(with.purchases.map(\.deliveredAt) == without.purchases.map(\.deliveredAt))
        #expect(with.refunds.count > without.refunds.count && without.requests.isEmpty)
        #expect(without.purchases.allSatisfy { $0.notifiedAt.purchase == nil && $0.toldAt == $0.evidentAt })
        #expect(with.purchases.allSatisfy { Self.keys.contains($0.bundleID) || $0.notifiedAt.purchase == nil })
        #expect(throws: SimulatorError.self) { try world(keys: ["com.example.puzzle"]) }
    }

    @Test func isTheSameForTheSameSeedAlone() throws {
        let (first, again) = (try world(customers: 300), try world(customers: 300))
        let other = try world(seed: 8, customers: 300)
        for (world, isEqual) in [(again, true), (other, false)] {
            #expect((first.truth() == world.truth()) == isEqual)
            #expect((first.events.refunds.map(\.refund) == world.events.refunds.map(\.refund)) == isEqual)
            #expect((first.events.requests.map(\.request) == world.events.requests.map(\.request)) == isEqual)
            #expect((first.purchases.map(\.toldAt) == world.purchases.map(\.toldAt)) == isEqual)
        }
    }

    @Test func someIsRefundedLongAfterItWasDelivered() throws {
        let world = try world(nights: 60)
        let drawn = world.purchases.filter { purchase in
            purchase.deliveredAt != nil && purchase.refundedAt != nil && !purchase.isEntitled
                && purchase.mishap != .refundedAfter
        }
        #expect(drawn.count > 50)
        for purchase in drawn {
            let (delivered, refunded) = (try #require(purchase.deliveredAt), try #require(purchase.refundedAt))
            #expect(refunded > delivered && refunded <= world.settings.end)
            #expect(purchase.refundReversedAt.map { $0 > refunded + 86_400 } ?? true)
        }
        let shares = drawn.compactMap(\.refundedShare)
        #expect(shares.count > 10 && shares.allSatisfy { (20_000...80_000).contains($0) && $0 % 1_000 == 0 })
        #expect(drawn.contains { $0.refundReversedAt != nil } && drawn.contains { $0.refundReversedAt == nil })
        let kinds = Set(world.events.refunds.map(\.refund.kind))
        #expect(kinds.contains(.familyRevoke) && kinds.contains(.full))
    }

    @Test func someComplainOfWhatNeverCame() throws {
        let world = try world(nights: 40)
        let lost = Set(world.purchases.filter { !$0.isServed && $0.refundedAt == nil }.map(\.transactionID))
        let complaints = world.events.requests.filter { lost.contains($0.transactionID) }
        #expect(complaints.count > 10 && complaints.allSatisfy { $0.request.reason == "FULFILLMENT_ISSUE" })
        #expect(complaints.count < world.events.requests.count)
    }

    /// The judge and the store agree on what there is.
    @Test func theStoreTellsWhatTheWorldKnows() throws {
        let world = try world()
        let records = world.records
        for bundleID in Self.keys {
            let told = StoreNotification.about(records.purchases(in: .production, bundleID: bundleID), records)
            let moments = Dictionary(
                uniqueKeysWithValues: told.map { ([$0.kind.rawValue, $0.known.transaction.id], $0.at) })
            for purchase in world.purchases where purchase.bundleID == bundleID && purchase.isOwed {
                let kind = try #require(StoreNotification.Kind(purchase.transaction)).rawValue
                #expect(moments[[kind, purchase.transactionID]] == purchase.notifiedAt.purchase)
                #expect(moments[["REFUND", purchase.transactionID]] == purchase.notifiedAt.refund)
                #expect(moments[["REFUND_REVERSED", purchase.transactionID]] == purchase.notifiedAt.reversal)
            }
            #expect(told.allSatisfy { $0.at >= world.settings.begin })
            let failing = told.count {
                !records.notices.attempts(of: $0, by: world.settings.end).contains(where: \.isTaken)
            }
            #expect(failing > 0 && failing * 4 < told.count)
        }
    }

    @Test func whatOnlyAppleToldIsExpectedOfTheJob() throws {
        let once = { (keys: Set<String>) in
            World(try WorldSettings(seed: 7, customers: 2_000, days: 5, now: testNow, keys: keys)).truth()
        }
        let (with, without) = (try once(Self.keys), try once([]))
        #expect(Set(without.lost.map(\.transactionID)).isSubset(of: with.lost.map(\.transactionID)))
        let told = with.lost.count - without.lost.count
        #expect(told > 10 && with.lostWithoutReceipt.count < without.lostWithoutReceipt.count)
        #expect(with.lost.contains { $0.scenario == "S09" })
    }

    // MARK: The judgement

    /// A job that finds all that was told, on each night on which it was lost.
    private func observations(_ world: World, _ nights: (Fate) -> Set<Int>) -> [WorldObservation] {
        WorldMatter.all(in: world).flatMap { matter in
            (1...world.settings.nights).compactMap { night in
                let lost = matter.fates.filter { nights($0).contains(night) }.map(\.purchase)
                return lost.first.map {
                    WorldObservation(
                        night: night, bundleID: $0.bundleID, transactionID: $0.transactionID,
                        periods: lost.map(\.transactionID), isHigh: false, owners: [$0.userID], orders: [])
                }
            }
        }
    }

    private func deliveries(_ world: World) -> WorldTally.Deliveries {
        let fates = world.purchases.map(Fates(world).fate).filter {
            $0.bookedAt != nil && $0.purchase.revokedAt == nil
        }
        return WorldTally.Deliveries(
            users: Dictionary(
                uniqueKeysWithValues: fates.map { ($0.purchase.transactionID, $0.purchase.deliveredTo ?? "") }),
            twice: 0)
    }

    /// What the ledger says of refunds in the night after Apple told of them.
    private func refunds(_ world: World) -> [RefundObservation] {
        world.purchases.compactMap { purchase in
            guard purchase.deliveredAt != nil, let refundedAt = purchase.refundedAt else { return nil }
            let first = world.settings.nightRun(from: purchase.notifiedAt.refund ?? refundedAt)
            guard first <= world.settings.nights else { return nil }
            return RefundObservation(
                night: first, transactionID: purchase.transactionID, share: purchase.refundedShare)
        }
    }

    private func forged(_ world: World) -> Set<String> {
        Set(world.events.forged.map(\.claim.transaction.id))
    }

    @Test func aForgedDeliveryThatIsNotNamedIsAFault() throws {
        let world = try world()
        let named = forged(world)
        let one = try #require(world.events.forged.first { $0.claim.at + 2 * 86_400 < world.settings.end })
        let missed = ForgeryTally(world, unproved: named.subtracting([one.claim.transaction.id]))
        #expect(missed.faults.count == 1 && missed.named == missed.all - 1)
        let wrong = ForgeryTally(world, unproved: named.union(["1"]))
        #expect(wrong.faults == ["called unproved, and genuine: 1"])
        #expect(Set(world.events.forged.map(\.kind)) == Set(ForgedDelivery.Kind.allCases))
    }

    /// Refunded between the night and what the app's server delivered after it, it is rightly called so.
    @Test func whatWasRefundedBeforeItWasDeliveredIsNoFault() throws {
        let world = try world()
        let index = try #require(world.events.purchases.firstIndex { $0.deliveredAt != nil && $0.refundedAt == nil })
        let id = world.events.purchases[index].transactionID
        func faults(refundedAt offset: TimeInterval) -> [String] {
            var events = world.events
            events.purchases[index].refundedAt = events.purchases[index].deliveredAt?.addingTimeInterval(offset)
            return ForgeryTally(World(settings: world.settings, events: events), unproved: forged(world).union([id]))
                .faults
        }
        #expect(faults(refundedAt: -1) == [])
        #expect(faults(refundedAt: 1) == ["called unproved, and genuine: \(id)"])
    }

    /// Where nobody reads the history, a notification that the URL never took tells nothing.
    @Test func whatIsHandedOnIsHeardWhenItIsTaken() throws {
        var settings = try WorldSettings(seed: 7, customers: 2_000, nights: 12, keys: Self.keys)
        let read = World(settings)
        settings.handsNoticesOn = true
        let handed = World(settings)
        let moments = { (world: World) in
            Dictionary(
                world.purchases.compactMap { purchase in
                    purchase.notifiedAt.purchase.map { (purchase.transactionID, $0) }
                }, uniquingKeysWith: { first, _ in first })
        }
        let (told, taken) = (moments(read), moments(handed))
        #expect(taken.count < told.count)
        #expect(taken.allSatisfy { $0.value >= told[$0.key] ?? .distantFuture })
        #expect(taken.contains { told[$0.key] != $0.value })
        let days = (1...12).map { day in
            handed.noticesTaken(by: "com.example.game") { handed.settings.day(of: $0) == day }
        }
        #expect(days.joined().count > 100)
        #expect(Set(days.joined()).count == days.joined().count)
        #expect(handed.events.forged.isEmpty)
    }

    /// Then no night sees it refunded.
    @Test func aRefundOfWhichTheReversalComesFirstIsNoneToNotice() throws {
        let world = try world()
        let faults = Set(RefundTally(world, []).faults)
        let index = try #require(
            world.events.purchases.firstIndex { purchase in
                purchase.refundReversedAt == nil && faults.contains("refund not noticed: \(purchase.transactionID)")
            })
        let id = world.events.purchases[index].transactionID
        func isFault(reversedAfter offset: TimeInterval) -> Bool {
            var events = world.events
            events.purchases[index].notifiedAt.reversal = events.purchases[index].notifiedAt.refund.map { $0 + offset }
            return RefundTally(World(settings: world.settings, events: events), []).faults
                .contains("refund not noticed: \(id)")
        }
        #expect(!isFault(reversedAfter: -60))
        #expect(isFault(reversedAfter: 2 * 86_400))
    }

    @Test func judgesAJobThatHears() throws {
        let world = try world()
        let tally = WorldTally(
            world: world, observations: observations(world) { $0.lostNights.union($0.heardNights) },
            deliveries: deliveries(world), refunds: refunds(world), unproved: forged(world))
        #expect(tally.faults == [])
        #expect(tally.isGood)
        #expect(tally.forgeries.all > 5 && tally.forgeries.named == tally.forgeries.all)
        #expect(tally.total.onlyTold > 5 && tally.total.heard == tally.total.onlyTold)
        #expect(tally.refunds.all > 10 && tally.refunds.noticed == tally.refunds.all)
        #expect(tally.total.untold > 0)
        let summary = TallyTable(tally).summary
        #expect(
            summary.hasSuffix(
                """
                , only Apple told \(tally.total.onlyTold), of these found \(tally.total.heard), refunds after delivery \
                \(tally.refunds.all), of these noticed \(tally.refunds.noticed)
                """))
        #expect(TallyTable(tally).description.contains("apple"))
    }

    @Test func judgesAJobThatHearsNothing() throws {
        let world = try world()
        let tally = WorldTally(
            world: world, observations: observations(world, \.lostNights), deliveries: deliveries(world))
        #expect(tally.total.missed == 0 && tally.total.found == tally.total.lost)
        #expect(tally.total.onlyTold > 0 && tally.total.heard == 0 && tally.total.unheard >= tally.total.onlyTold)
        #expect(tally.refunds.noticed == 0 && !tally.refunds.faults.isEmpty)
        #expect(!tally.isGood)
        let part = refunds(world).map {
            RefundObservation(night: $0.night, transactionID: $0.transactionID, share: ($0.share ?? 100_000) - 1)
        }
        #expect(RefundTally(world, part).noticed == 0)
    }

    @Test func withoutKeysTheTableIsWhatItWas() throws {
        let world = try world(customers: 100, keys: [])
        let table = TallyTable(
            WorldTally(world: world, observations: [], deliveries: WorldTally.Deliveries(users: [:], twice: 0)))
        #expect(!table.description.contains("apple"))
        #expect(table.summary.contains(", high though there is access 0") && table.summary.hasSuffix("access 0"))
    }

    /// What a night saw refunded and was reversed is owed again, and only Apple's word tells.
    @Test func aRefundThatIsReversedIsOwedAgain() throws {
        let world = try world(customers: 2_000)
        let truth = Fates(world)
        let reopened = world.purchases.filter { $0.refundReversedAt != nil && $0.deliveredAt == nil }.map(truth.fate)
        let heard = reopened.filter { !$0.heardNights.isEmpty }
        #expect(!heard.isEmpty)
        for fate in heard {
            let reversedAt = try #require(fate.purchase.refundReversedAt)
            let first = world.settings.nightRun(from: reversedAt)
            #expect(fate.heardNights.allSatisfy { $0 >= first } && fate.lostNights.allSatisfy { $0 < first })
        }
    }

    @Test func theConfigurationHasTheKeyOfThoseThatHaveOne() throws {
        let settings = try world(customers: 0).settings
        let lines = World.apps.map { $0.configuration(settings, keyFile: "/secrets/key.p8") }
        #expect(lines.map { $0.contains("server_api_key_file = /secrets/key.p8") } == [true, true, false, false])
        #expect(lines[0].contains("verification = verify-receipt") && lines[1].contains("verification = auto"))
        #expect(!lines[2].contains("verification"))
    }
}
