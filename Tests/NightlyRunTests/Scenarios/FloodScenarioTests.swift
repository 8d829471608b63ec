import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// One client that makes hundreds of something: a case holds what tells most, says that there is more, and no night
/// crawls for it.
@Suite struct FloodScenarioTests {
    private static let flood = 150

    @Test func ofManyOrdersTheNearestAreLookedAt() async throws {
        try await withPlay { play in
            let lost = play.buy("2000000000000001", hoursAgo: 200)
            let few = play.buy("2000000000000002", "gems.500", account: "bert", hoursAgo: 200)
            try await play.upload(play.receipt([lost]), for: lost)
            try await play.upload(play.receipt([few], account: "bert"), by: "bert", for: few)
            try await play.order("near", hoursAgo: 200.1)
            try await play.order("bert’s", by: "bert", product: "gems.500", hoursAgo: 201)
            try await play.administer(
                """
                INSERT INTO iap.orders (bundle_id, order_id, user_id, product_id, created_at)
                SELECT 'com.example.game', 'far-' || number, 'anna', 'gems.60',
                    \(play.began) - interval '300 hours' - number * interval '1 second'
                FROM generate_series(1, \(Int64(Self.flood))) AS number
                """)
            let cases = try await play.night().findings.cases
            let found = try #require(cases.first { $0.key.id.text == lost.id })
            #expect(found.assessment.reasons.contains(.cutShort))
            #expect(found.assessment.orderIDs.count == CaseFacts.most)
            #expect(found.assessment.orderIDs.prefix(3) == ["near", "far-1", "far-2"])
            let other = try #require(cases.first { $0.key.id.text == few.id })
            #expect(!other.assessment.reasons.contains(.cutShort))
            #expect(other.assessment.orderIDs == ["bert’s"])
        }
    }

    /// Orders that were delivered are not in the way of the one that is open.
    @Test func whatWasDeliveredDoesNotCrowdOutTheOpenOrder() async throws {
        try await withPlay { play in
            let lost = play.buy("2000000000000001", hoursAgo: 200)
            try await play.upload(play.receipt([lost]), for: lost)
            try await play.order("open", hoursAgo: 203)
            for number in 1...Self.flood {
                let bought = play.buy(String(2_000_000_000_001_000 + number), hoursAgo: 200)
                try await play.order("used-\(number)", hoursAgo: 200 + Double(number) / 1000)
                #expect(try await play.admit(bought) == "white")
                #expect(try await play.claim(bought, order: "used-\(number)") == "delivered")
            }
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.assessment.orderIDs == ["open"])
            #expect(!found.assessment.reasons.contains(.cutShort))
        }
    }

    @Test func ofManyClaimsTheLatestAreLookedAt() async throws {
        try await withPlay { play in
            let lost = play.buy("2000000000000001", hoursAgo: 200)
            try await play.upload(play.receipt([lost]), for: lost)
            for number in 1...Self.flood { try await play.claim(lost, order: "order-\(number)") }
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.assessment.reasons.contains(.cutShort) && found.assessment.reasons.contains(.claimFailed))
            #expect(found.claims.count == CaseFacts.most)
            #expect(found.claims.last?.orderID == "order-\(Self.flood)")
        }
    }

    @Test func ofManyUploadsTheFirstAreLookedAt() async throws {
        try await withPlay { play in
            let lost = play.buy("2000000000000001", hoursAgo: 200)
            for number in 1...Self.flood {
                try await play.upload(
                    play.receipt([lost], madeHoursAgo: 10 + Double(number)), by: "user-\(number)", for: lost)
            }
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.assessment.reasons.contains(.cutShort) && found.assessment.reasons.contains(.ownerAmbiguous))
            #expect(found.sightings.count == CaseFacts.most)
        }
    }

    /// All of one receipt's purchases are found, and to whom those beside them went.
    @Test func aReceiptOfThousandsOfPurchasesIsLookedAtOnce() async throws {
        try await withPlay { play in
            let bought = (0..<2500).map { play.buy(String(2_000_000_000_000_000 + $0), hoursAgo: 200) }
            let receipt = try await play.upload(play.receipt(bought), by: nil)
            #expect(try await play.admit(bought[0], for: "carla") == "white")
            #expect(try await play.claim(bought[0], for: "carla") == "delivered")
            let cases = try await play.night().findings.cases
            #expect(cases.count == bought.count - 1)
            #expect(cases.allSatisfy { $0.assessment.owner.candidates == ["carla"] }, "\(receipt)")
        }
    }
}
