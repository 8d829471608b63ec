import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import Testing
import Verification

/// Whose a purchase is: the case says what a claim is told.
@Suite struct OwnerScenarioTests {
    private static let token = "c1e36e35-58f5-5e6e-b9c0-16ca7763f906"
    private static let otherToken = "62496054-a220-5c31-b232-92450941abac"

    private func only(_ findings: Collector) throws -> ReportedCase {
        #expect(findings.cases.count == 1)
        return try #require(findings.cases.first)
    }

    private func register(_ play: Play, _ user: String, _ token: String) async throws {
        _ = try await play.server("SELECT iap.register_user(\(Play.bundleID), \(user), \(token)) AS answer")
    }

    private func sell(_ play: Play, _ product: String, _ type: String) async throws {
        try await play.administer(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name)
            VALUES (\(Play.bundleID), \(product), \(type), 'For sale')
            """)
    }

    /// Whoever restores on the same Apple account need not have paid, whatever their server makes of it.
    @Test func whatBearsAnothersTokenIsNotWhoseRestoredIt() async throws {
        try await withPlay(hasKey: true) { play in
            try await sell(play, "noads", "non_consumable")
            try await register(play, "anna", Self.token)
            let bought = play.buy("1000000000005101", "noads") { $0.appAccountToken = Self.token }
            try await play.upload(play.receipt([bought], style: .signedTransaction), for: bought)
            #expect(try only(try await play.night(1).findings).assessment.owner == .user("anna"))
            var restored = bought
            (restored.id, restored.appAccountToken) = ("1000000000005102", nil)
            #expect(try await play.admit(restored, for: "ben") == "white")
            #expect(try await play.claim(restored, for: "ben") == "undecided")
            let found = try only(try await play.night(2).findings)
            #expect(found.key.id.text == bought.id)
            #expect(found.assessment.owner == .ambiguous(["anna", "ben"]))
            #expect(try await play.claim(bought, for: "anna") == "undecided")
        }
    }

    /// On a shared phone the client names the order that it kept: what was delivered for it makes nothing else its user's.
    @Test func anOrderThatWasDeliveredSpeaksForNobody() async throws {
        try await withPlay(.verifyReceipt) { play in
            try await play.order("o-1", hoursAgo: 300.1)
            let served = play.buy("1000000000005111", hoursAgo: 300)
            try await play.admit(served)
            #expect(try await play.claim(served, order: "o-1") == "delivered")
            let lost = play.buy("1000000000005112")
            try await play.upload(play.receipt([lost]), by: "ben", for: lost, order: "o-1")
            let found = try only(try await play.night().findings)
            #expect(found.assessment.owner == .user("ben"))
            #expect(try await play.claim(lost, for: "anna") == "wrong_user")
            #expect(try await play.claim(lost, for: "ben") == "delivered")
        }
    }

    @Test func aTokenStaysItsUsersOnceTheirOrderIsDelivered() async throws {
        try await withPlay(hasKey: true) { play in
            try await play.order("o-1", token: Self.token, hoursAgo: 300.1)
            let served = play.buy("1000000000005121", hoursAgo: 300)
            try await play.admit(served)
            #expect(try await play.claim(served, order: "o-1") == "delivered")
            let lost = play.buy("1000000000005122") { $0.appAccountToken = Self.token }
            try await play.upload(play.receipt([lost], style: .signedTransaction), by: "ben", for: lost)
            let found = try only(try await play.night().findings)
            #expect(found.assessment.owner == .user("anna"))
            #expect(found.orderIDs == [])
            #expect(try await play.claim(lost, for: "ben") == "wrong_user")
            #expect(try await play.claim(lost, for: "anna") == "delivered")
        }
    }

    /// What came with it was theirs. All users of the phone share its receipt.
    @Test(arguments: [false, true])
    func aSharedReceiptAloneMakesNobodyCertain(isNamed: Bool) async throws {
        try await withPlay(.verifyReceipt) { play in
            let served = play.buy("1000000000005131", hoursAgo: 600)
            let lost = play.buy("1000000000005132", hoursAgo: 500)
            try await play.admit(served)
            #expect(try await play.claim(served) == "delivered")
            try await play.upload(play.receipt([served, lost]), by: nil, for: isNamed ? lost : nil)
            let found = try only(try await play.night().findings)
            #expect(found.assessment.owner == .user("anna"))
            #expect(found.assessment.reasons.contains(.ownerUncertain))
            #expect(found.assessment.likelihood == .medium && found.assessment.action == .contact)
        }
    }

    /// One Apple account pays for one user of the app, and later for another.
    @Test func aSubscriptionWhosePeriodsBearTokensOfTwoUsersIsNobodysForCertain() async throws {
        try await withPlay(.verifyReceipt) { play in
            try await sell(play, "vip", "auto_renewable")
            try await register(play, "anna", Self.token)
            try await register(play, "ben", Self.otherToken)
            let periods = [(800.0, Self.token), (200, Self.otherToken)].enumerated().map { number, period in
                play.buy("200000000000510\(number)", "vip", hoursAgo: period.0) {
                    $0.productType = .autoRenewable
                    $0.originalID = "2000000000005100"
                    $0.expiresAt = $0.purchasedAt + 480 * 3600
                    $0.appAccountToken = period.1
                }
            }
            try await play.upload(play.receipt(periods), by: nil)
            var play = play
            let app = play.settings.apps[0].app
            play.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: app.environment, grace: app.grace, since: nil,
                delivery: [.autoRenewable: .entitlement])
            let found = try only(try await play.night(1).findings)
            #expect(found.key.id.text == periods[0].id)
            #expect(found.assessment.owner == .ambiguous(["anna", "ben"]))
            // The desk makes up for anna's, and ben's is a case of his own.
            #expect(
                try await play.text(
                    "iap.resolve(\(periods[0].id), 'delivered', 'sue', 'by mail', user_id => 'anna')") == "delivered")
            let next = try only(try await play.night(2).findings)
            #expect(next.key.id.text == periods[1].id && next.assessment.owner == .user("ben"))
        }
    }
}
