import AppStoreSimulator
import Testing

/// A world of many nights, small: the job finds what it should night by night, and nothing else.
@Suite struct NightsWorldTests {
    /// Plays a world through the job, and judges it.
    private func tally(_ settings: NightsSettings) async throws -> NightsTally {
        try await withNights(settings) { nights in
            for night in 1...settings.nights { try await nights.play(night) }
            let wrong = try await violations(nights.database)
            #expect(wrong == [])
            return try await nights.stage.tally()
        }
    }

    @Test func findsEverythingThatReachedTheServerAndNothingElse() async throws {
        let tally = try await tally(try NightsSettings(seed: 3, customers: 250, nights: 6))
        #expect(tally.faults == [])
        #expect(tally.isGood)
        #expect(tally.total.lost > 10)
        #expect(tally.total.found == tally.total.lost)
        #expect(tally.total.mended > 0)
        #expect(tally.cases >= tally.total.found)
    }
}
