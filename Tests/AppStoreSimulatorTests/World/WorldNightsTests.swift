import AppStoreSimulator
import Foundation
import Testing

@testable import SimulatedWorld

@Suite struct WorldNightsTests {
    private func world(seed: UInt64 = 7, customers: Int = 400, nights: Int = 20) throws -> World {
        World(try WorldSettings(seed: seed, customers: customers, nights: nights))
    }

    @Test func isTheSameForTheSameSeedAlone() throws {
        let first = try world().events
        let again = try world().events
        let other = try world(seed: 8).events
        #expect(first.uploads.map(\.content) == again.uploads.map(\.content))
        #expect(first.purchases.map(\.transaction) == again.purchases.map(\.transaction))
        #expect(first.purchases.map(\.deliveredAt) == again.purchases.map(\.deliveredAt))
        #expect(first.purchases.map(\.transaction) != other.purchases.map(\.transaction))
    }

    @Test func hasEveryMishapAndEveryScheme() throws {
        let purchases = try world(customers: 5000).events.purchases
        // What is no receipt is no purchase.
        #expect(Set(purchases.map(\.mishap)) == Set(Mishap.allCases).subtracting([.unreadable]))
        #expect(Set(purchases.map(\.scheme)) == Set(Scheme.allCases))
    }

    @Test func givesEveryPurchaseAndOrderAnIDOfItsOwn() throws {
        let events = try world(customers: 3000).events
        #expect(Set(events.purchases.map(\.transactionID)).count == events.purchases.count)
        #expect(Set(events.orders.map(\.id)).count == events.orders.count)
    }

    @Test func nothingHappensOutOfItsTime() throws {
        let world = try world()
        let days = 1...world.settings.nights
        for upload in world.events.uploads {
            #expect(days.contains(world.settings.day(of: upload.at)))
            for transaction in upload.receipt?.transactions ?? [] { #expect(transaction.purchasedAt <= upload.at) }
        }
        for claim in world.events.claims {
            let upload = world.events.uploads[claim.upload]
            #expect(upload.at <= claim.at)
            #expect(upload.receipt?.transactions.contains { $0.id == claim.transaction.id } == true)
        }
    }

    @Test func deliversNothingTwice() throws {
        let delivered = try world().events.claims.filter { $0.kind == .delivered }.map(\.transaction.id)
        #expect(Set(delivered).count == delivered.count)
    }

    @Test func opensTheOrderFirstWhereTheSchemeDoes() throws {
        let events = try world().events
        let opened = Dictionary(uniqueKeysWithValues: events.orders.map { ($0.id, $0.at) })
        for purchase in events.purchases where purchase.mishap == .ordinary {
            guard let order = purchase.orderID.flatMap({ opened[$0] }) else { continue }
            #expect((order < purchase.purchasedAt) == purchase.scheme.ordersFirst)
        }
    }

    @Test func someHaveSubscribedForYearsAndAreOneMatterEach() throws {
        let world = try world()
        let matters = WorldMatter.all(in: world).filter { $0.fates[0].purchase.isEntitled }
        let old = matters.filter { $0.fates[0].purchase.purchasedAt < world.settings.begin - 100 * 86_400 }
        #expect(old.count > 20)
        #expect(old.contains { $0.fates.count > 30 })
        for matter in matters {
            #expect(Set(matter.fates.map(\.purchase.transaction.originalID)).count == 1)
            for (earlier, later) in zip(matter.fates, matter.fates.dropFirst()) {
                #expect(earlier.purchase.refundedAt != nil || earlier.purchase.expiresAt <= later.purchase.purchasedAt)
            }
        }
    }

    /// What is granted in time is lost on no night, and a server that forgets makes up for it.
    @Test func isLostForAsLongAsTheServerForgets() throws {
        let world = try world(customers: 2_000)
        let matters = WorldMatter.all(in: world)
        func lost(_ mishap: Mishap) -> [WorldMatter] {
            matters.filter { $0.fates[0].purchase.mishap == mishap && !$0.lostNights.isEmpty }
        }
        #expect(lost(.renewed).isEmpty && lost(.familySubscription).isEmpty)
        let forgotten = lost(.forgottenRenewal)
        #expect(forgotten.count > 10)
        #expect(forgotten.allSatisfy { $0.lostNights.count <= 2 })
        #expect(lost(.missedRenewal).contains { $0.lostNights.count > 3 })
        #expect(lost(.lastPeriodLacking).contains { $0.lostNights.contains(4) })
    }

    /// Before its server is connected an app delivers, and nothing of it is lost.
    @Test func anAppIsJudgedOnceItsServerIsConnected() throws {
        let world = try world(customers: 2_000)
        let late = WorldApp.fitness
        let connectedAt = late.connectedAt(world.settings)
        #expect(late.firstNight(world.settings) == 10)
        #expect(world.events.claims.allSatisfy { $0.bundleID != late.bundleID || $0.at >= connectedAt })
        #expect(world.events.grants.allSatisfy { $0.bundleID != late.bundleID || $0.at >= connectedAt })
        #expect(world.purchases.contains { $0.bundleID == late.bundleID && $0.isServedUnseen })
        let lost = WorldMatter.all(in: world).filter { !$0.lostNights.isEmpty }.flatMap(\.fates)
        let ofLate = lost.filter { $0.purchase.bundleID == late.bundleID && !$0.lostNights.isEmpty }
        #expect(!ofLate.isEmpty)
        #expect(ofLate.allSatisfy { $0.purchase.purchasedAt >= connectedAt && ($0.lostNights.min() ?? 0) >= 10 })
        let untold = world.purchases.filter {
            $0.bundleID == WorldApp.cinema.bundleID && $0.transaction.productType == .nonConsumable
        }
        #expect(untold.contains { $0.isServedUnseen } && untold.allSatisfy { $0.deliveredAt == nil })
    }

    /// A case for each period, and one of what was granted.
    @Test func judgesAJobThatTakesPeriodsForPurchases() throws {
        let world = try world()
        let deliveries = WorldTally.Deliveries(users: [:], twice: 0)
        let subscription = try #require(
            WorldMatter.all(in: world).first {
                $0.fates.count > 10 && $0.lostNights.isEmpty && $0.fates[0].purchase.isGranted
            })
        let observations = subscription.fates.map(\.purchase).map { period in
            WorldObservation(
                night: 20, bundleID: period.bundleID, transactionID: period.transactionID, isHigh: true,
                owners: [period.userID], orders: [])
        }
        let tally = WorldTally(world: world, observations: observations, deliveries: deliveries)
        #expect(tally.total.falseAlarms == 1)
        #expect(tally.total.falseOfGranted == 1)
        #expect(tally.total.toldTwice == 1)
        #expect(tally.total.overstated == 1)
        #expect(tally.spread.overburdened == 1)
        #expect(tally.spread.told.most == observations.count)
        #expect(!tally.isGood)
    }

    @Test func judgesAJobThatSaysNothingOrTooMuch() throws {
        let world = try world()
        let nothing = WorldTally(
            world: world, observations: [], deliveries: WorldTally.Deliveries(users: [:], twice: 1))
        #expect(nothing.total.found == 0)
        #expect(nothing.total.missed == nothing.total.lost)
        #expect(nothing.total.lost > 0)
        let truth = Fates(world)
        let booked = world.purchases.filter { truth.fate(of: $0).bookedAt != nil && $0.revokedAt == nil }
        #expect(nothing.wrongDeliveries == booked.count)
        #expect(booked.count > 1_000)
        #expect(!nothing.isGood)

        let unanswered = WorldTally(
            world: world, observations: [], deliveries: WorldTally.Deliveries(users: [:], twice: 0),
            unanswered: Set(world.purchases.map(\.transactionID)))
        #expect(unanswered.total.missed == 0)
        #expect(unanswered.total.waiting == nothing.total.lost)

        let delivered = try #require(world.purchases.first { $0.mishap == .ordinary && $0.deliveredAt != nil })
        let tooMuch = WorldTally(
            world: world,
            observations: [
                WorldObservation(
                    night: 20, bundleID: delivered.bundleID, transactionID: delivered.transactionID, isHigh: true,
                    owners: ["nobody"], orders: [])
            ], deliveries: WorldTally.Deliveries(users: [:], twice: 0))
        #expect(tooMuch.total.falseAlarms == 1)
        #expect(tooMuch.total.wronglyHigh == 1)
        #expect(tooMuch.faults.contains { $0.contains(delivered.transactionID) })
    }
}
