import SimulatedWorld
import Reconciliation
import Testing

/// A world of many nights, small: the job finds what it should night by night, and nothing else.
@Suite struct WorldNightsTests {
    /// Plays a world through the job, and judges it.
    private func tally(_ settings: WorldSettings) async throws -> WorldTally {
        try await withNights(settings) { nights in
            for night in 1...settings.nights { try await nights.play(night) }
            let wrong = try await violations(nights.database)
            #expect(wrong == [])
            return try await nights.stage.tally()
        }
    }

    @Test func findsEverythingThatReachedTheServerAndNothingElse() async throws {
        let tally = try await tally(try WorldSettings(seed: 3, customers: 250, nights: 6))
        #expect(tally.faults == [])
        #expect(tally.isGood)
        #expect(tally.total.lost > 10)
        #expect(tally.total.found == tally.total.lost)
        #expect(tally.total.mended > 0)
        #expect(tally.cases >= tally.total.found)
    }

    /// The app's server takes after each night what that asks it to deliver; it crashes, and claims twice.
    @Test func whatIsHighIsDeliveredWithoutItsCustomerOnceAndToWhoPaid() async throws {
        let settings = try WorldSettings(seed: 11, customers: 300, nights: 10)
        try await withNights(settings, redelivery: .high) { nights in
            var told = 0
            for night in 1...settings.nights {
                told += try await nights.play(night).redeliveries.delivered
                try await nights.stage.redeliver(night: night)
            }
            let tally = try await nights.stage.tally()
            #expect(tally.faults == [])
            #expect(tally.isGood && tally.deliveredTwice == 0 && tally.total.missed == 0)
            #expect(told > 3 && tally.redelivered >= told, "\(told) told, \(tally.redelivered) delivered")
            #expect(try await violations(nights.database) == [])
        }
    }

    /// Servers that keep entitlements, one that is connected on the tenth day, and one that forgets for two.
    @Test func whatWasGrantedIsNoCaseAndWhatIsNotConnectedIsALine() async throws {
        let settings = try WorldSettings(seed: 5, customers: 300, nights: 14)
        try await withNights(settings) { nights in
            for night in 1...settings.nights {
                let report = try await nights.play(night)
                let causes = Dictionary(grouping: report.unjudged) {
                    "\($0.bundleID) \($0.productType?.rawValue ?? "")"
                }
                .mapValues { Set($0.map(\.cause)) }
                let isConnected = night >= 10
                for type in ["consumable", "auto_renewable"] {
                    let cause = causes["com.example.fitness \(type)"]
                    #expect(cause?.contains(.notConnected) ?? false == !isConnected, "\(type) in night \(night)")
                }
                guard night >= 3 else { continue }
                #expect(causes["com.example.fitness non_consumable"].map { $0 == [.ignored] } ?? true)
                #expect(causes["com.example.cinema non_consumable"].map { $0 == [.notConnected] } ?? true)
            }
            let tally = try await nights.stage.tally()
            #expect(tally.faults == [])
            #expect(tally.isGood)
            #expect(tally.total.missed == 0 && tally.total.falseAlarms == 0 && tally.deliveredTwice == 0)
            #expect(tally.byMishap[.forgottenRenewal].map { $0.found > 0 && $0.mended == $0.found } ?? false)
            #expect(tally.spread.told == tally.spread.truth)
            #expect(tally.spread.truth.firstNight > 0)
            #expect(try await violations(nights.database) == [])
        }
    }
}
