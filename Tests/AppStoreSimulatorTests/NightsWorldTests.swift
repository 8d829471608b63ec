import Foundation
import Testing

@testable import AppStoreSimulator

@Suite struct NightsWorldTests {
    private func world(seed: UInt64 = 7, customers: Int = 400, nights: Int = 20) throws -> NightsWorld {
        NightsWorld(try NightsSettings(seed: seed, customers: customers, nights: nights))
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

    @Test func judgesAJobThatSaysNothingOrTooMuch() throws {
        let world = try world()
        let nothing = NightsTally(
            world: world, observations: [], deliveries: NightsTally.Deliveries(users: [:], twice: 1))
        #expect(nothing.total.found == 0)
        #expect(nothing.total.missed == nothing.total.lost)
        #expect(nothing.total.lost > 0)
        #expect(nothing.wrongDeliveries == world.purchases.count { $0.deliveredAt != nil })
        #expect(!nothing.isGood)

        let unanswered = NightsTally(
            world: world, observations: [], deliveries: NightsTally.Deliveries(users: [:], twice: 0),
            unanswered: Set(world.purchases.map(\.transactionID)))
        #expect(unanswered.total.missed == 0)
        #expect(unanswered.total.waiting == nothing.total.lost)

        let delivered = try #require(world.purchases.first { $0.mishap == .ordinary && $0.deliveredAt != nil })
        let tooMuch = NightsTally(
            world: world,
            observations: [
                NightsObservation(
                    night: 20, transactionID: delivered.transactionID, isHigh: true, owners: ["nobody"], orders: [])
            ], deliveries: NightsTally.Deliveries(users: [:], twice: 0))
        #expect(tooMuch.total.falseAlarms == 1)
        #expect(tooMuch.total.wronglyHigh == 1)
        #expect(tooMuch.faults.contains { $0.contains(delivered.transactionID) })
    }
}
