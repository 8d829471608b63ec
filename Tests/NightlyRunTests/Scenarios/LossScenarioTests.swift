import Job
import Verification
import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import Testing

/// The ways in which an order gets lost: each is found, once, with its reasons, its owner and what to do.
@Suite struct LossScenarioTests {
    private func only(_ findings: Collector) throws -> ReportedCase {
        #expect(findings.cases.count == 1)
        return try #require(findings.cases.first)
    }

    @Test func s01TheCallbackNeverFiredAndTheReceiptCameWithAnother() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000000101", hoursAgo: 210)
            let other = play.buy("1000000000000102")
            try await play.upload(play.receipt([lost, other]), for: other)
            try await play.admit(other)
            #expect(try await play.claim(other) == "delivered")
            let found = try only(try await play.night().findings)
            #expect(found.key.id.text == lost.id)
            #expect(found.assessment.reasons == [.neverClaimed, .rodeAlong])
            #expect(found.assessment.owner == .user("anna"))
            #expect(found.assessment.action == .deliver)
            #expect(found.assessment.likelihood == .high)
        }
    }

    @Test func s02TheReceiptCameTheNextDayAndTheClaimNever() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000000201")
            try await play.upload(play.receipt([lost]), for: lost)
            let found = try only(try await play.night().findings)
            #expect(found.assessment.reasons == [.neverClaimed])
            #expect(found.assessment.owner == .user("anna"))
            #expect(found.assessment.action == .deliver)
        }
    }

    @Test func s03TheOrderIDIsLostAndOneOrderIsOpen() async throws {
        try await withPlay { play in
            try await play.order("order-3", hoursAgo: 200.1)
            try await play.order("order-of-ben", by: "ben", hoursAgo: 200.1)
            try await play.order("order-of-another-product", product: "gems.300", hoursAgo: 200.1)
            let lost = play.buy("1000000000000301")
            try await play.upload(play.receipt([lost]), for: lost)
            let found = try only(try await play.night().findings)
            #expect(found.assessment.reasons == [.neverClaimed, .orderMatched])
            #expect(found.orderIDs == ["order-3"])
        }
    }

    @Test func s04ThreeOrdersWereOpenedAndOnePaid() async throws {
        try await withPlay { play in
            for (name, hours) in [("first", 203.0), ("third", 200.5), ("second", 201.0)] {
                try await play.order(name, hoursAgo: hours)
            }
            let lost = play.buy("1000000000000401")
            try await play.upload(play.receipt([lost]), for: lost)
            let found = try only(try await play.night().findings)
            #expect(found.assessment.reasons == [.neverClaimed, .orderAmbiguous])
            #expect(found.orderIDs == ["third", "second", "first"])
        }
    }

    @Test func oneOrderIsNeverGivenToTwoTransactions() async throws {
        try await withPlay { play in
            try await play.order("order-1", hoursAgo: 210.1)
            try await play.order("order-2", hoursAgo: 200.1)
            let first = play.buy("1000000000000411", hoursAgo: 210)
            let second = play.buy("1000000000000410", hoursAgo: 200)
            try await play.upload(play.receipt([first, second]), for: second)
            let findings = try await play.night().findings
            let orders = Dictionary(uniqueKeysWithValues: findings.cases.map { ($0.key.id.text, $0.orderIDs) })
            #expect(orders == [first.id: ["order-1"], second.id: ["order-2"]])
        }
    }

    @Test func s05TheAppWasReinstalledAndALaunchUploadBroughtIt() async throws {
        try await withPlay { play in
            try await play.order("order-5", hoursAgo: 200.1)
            let lost = play.buy("1000000000000501")
            try await play.upload(play.receipt([lost]))
            let found = try only(try await play.night().findings)
            #expect(found.assessment.reasons == [.neverClaimed, .rodeAlong, .orderMatched])
            #expect(found.orderIDs == ["order-5"])
            #expect(found.assessment.owner == .user("anna"))
        }
    }

    @Test func s08TheClientFinishedWhatTheServerNeverDelivered() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000000801", hoursAgo: 40)
            let later = play.buy("1000000000000802", hoursAgo: 20)
            try await play.upload(play.receipt([lost], madeHoursAgo: 39), for: lost)
            try await play.upload(play.receipt([later], madeHoursAgo: 19), for: later)
            try await play.admit(later)
            try await play.claim(later)
            let found = try only(try await play.night().findings)
            #expect(found.key.id.text == lost.id)
            #expect(found.assessment.reasons == [.neverClaimed, .finishedUndelivered, .mayStillArrive])
            #expect(found.assessment.likelihood == .high)
            #expect(found.assessment.action == .deliver)
        }
    }

    /// What could never hold the purchase does not tell that the client finished it.
    @Test(arguments: [(Play.bundleID, StoreEnvironment.sandbox), (Play.foreignBundleID, .production)])
    func s08AReceiptOfAnotherAppOrEnvironmentTellsNothingOfIt(
        bundleID: String, environment: StoreEnvironment
    ) async throws {
        try await withPlay(.verifyReceipt) { play in
            let lost = play.buy("1000000000000806", hoursAgo: 40)
            let other = SimulatedTransaction(
                id: "1000000000000807", productID: "gems.60", purchasedAt: play.began - 20 * 3600)
            try await play.upload(play.receipt([lost], madeHoursAgo: 39), for: lost)
            try await play.upload(
                play.receipt([other], bundleID: bundleID, environment: environment, madeHoursAgo: 19), for: other)
            let found = try only(try await play.night().findings)
            #expect(found.key.id.text == lost.id)
            #expect(found.assessment.reasons == [.neverClaimed, .mayStillArrive])
            #expect(found.assessment.likelihood == .medium)
        }
    }

    @Test func s08OnASharedPhoneSomebodyElseMayHavePaid() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000000803", hoursAgo: 400)
            let own = play.buy("1000000000000804", hoursAgo: 399)
            let later = play.buy("1000000000000805", hoursAgo: 380)
            for (bought, receipt) in [(own, [lost, own]), (later, [later])] {
                try await play.upload(play.receipt(receipt, madeHoursAgo: bought.id == own.id ? 398 : 379), for: bought)
                try await play.admit(bought)
                try await play.claim(bought)
            }
            let found = try only(try await play.night().findings)
            #expect(found.key.id.text == lost.id)
            #expect(found.assessment.reasons.contains(.ownerUncertain))
            #expect(found.assessment.likelihood == .medium)
        }
    }

    /// Who named a purchase is asked about it, though the receipt came too early to hold it.
    @Test func s07TheReceiptOfAnotherUserBringsWhatTheEmptyOneNamed() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000000701")
            try await play.upload(play.receipt([]), by: "a", for: lost, order: "order-a")
            try await play.upload(play.receipt([lost]), by: "b")
            let found = try only(try await play.night().findings)
            #expect(found.assessment.owner == .ambiguous(["a", "b"]))
            #expect(found.assessment.candidates.map(\.evidence) == [[.mentioned], [.carried]])
            #expect(found.assessment.orderIDs == ["order-a"])
            #expect(found.assessment.likelihood == .medium)
        }
    }

    @Test func s11APaidAndBUploadedTheSame() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000001101")
            let payload = play.receipt([lost])
            try await play.upload(payload, by: "a", for: lost)
            try await play.upload(payload, by: "b")
            let found = try only(try await play.night().findings)
            #expect(found.assessment.reasons == [.neverClaimed, .ownerAmbiguous])
            #expect(found.assessment.owner == .ambiguous(["a", "b"]))
            #expect(found.assessment.candidates.map(\.evidence) == [[.uploaded], [.carried]])
            #expect(found.assessment.action == .contact)
            #expect(found.assessment.likelihood == .medium)
        }
    }

    /// Swift takes the two for one; to PostgreSQL and the app's server they are of two users.
    @Test func s11AnOrderOfOtherCodePointsIsAnothers() async throws {
        try await withPlay { play in
            let orders = ["order-\u{E9}", "order-e\u{301}"]
            let served = play.buy("1000000000001111")
            let open = play.buy("1000000000001112")
            let lost = play.buy("1000000000001113")
            for (order, user) in zip(orders, ["ann", "ben"]) { try await play.order(order, by: user, hoursAgo: 201) }
            try await play.upload(play.receipt([served, open]), by: "ann", for: served)
            try await play.admit(served, for: "ann")
            #expect(try await play.claim(served, for: "ann", order: orders[0]) == "delivered")
            try await play.upload(play.receipt([lost]), by: "cy", for: lost, order: orders[1])
            let cases = try await play.night().findings.cases
            let found = try #require(cases.first { $0.key.id.text == lost.id })
            #expect(found.assessment.owner == .ambiguous(["ben", "cy"]))
            #expect(found.assessment.action == .contact)
        }
    }

    /// On a phone that two share, the order may be of the one who uploaded nothing.
    @Test func s11TheOrderOfWhoeverElseMayHavePaidIsLookedFor() async throws {
        try await withPlay { play in
            let ofA = play.buy("1000000000001104", hoursAgo: 300)
            let lost = play.buy("1000000000001105", hoursAgo: 50)
            let ofB = play.buy("1000000000001106", hoursAgo: 20)
            for (bought, user) in [(ofA, "a"), (ofB, "b")] {
                try await play.admit(bought, for: user)
                #expect(try await play.claim(bought, for: user) == "delivered")
            }
            try await play.order("order-a", by: "a", hoursAgo: 50.01)
            try await play.order("order-b", by: "b", hoursAgo: 480)
            try await play.upload(play.receipt([ofA, lost, ofB]), by: "b", for: ofB)
            let found = try only(try await play.night().findings)
            #expect(found.key.id.text == lost.id)
            #expect(found.assessment.owner == .ambiguous(["b", "a"]))
            #expect(found.assessment.reasons.contains(.orderAmbiguous))
            #expect(found.assessment.orderIDs == ["order-a", "order-b"])
        }
    }

    @Test func s11BWasCreditedForWhatAPaid() async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000001102")
            let payload = play.receipt([bought])
            try await play.upload(payload, by: "a", for: bought)
            try await play.upload(payload, by: "b")
            #expect(try await play.night(1).findings.cases.count == 1)
            // Who came later may not claim, unless the app's own server stands for it.
            #expect(try await play.claim(bought, for: "b") == "wrong_user")
            #expect(try await play.admit(bought, for: "b") == "already_white")
            #expect(try await play.claim(bought, for: "b") == "delivered")
            let findings = try await play.night(2).findings
            #expect(findings.cases.isEmpty)
            #expect(findings.suspicions.map(\.kind) == [.misdelivery])
            #expect(findings.suspicions.first?.userIDs == ["a", "b"])
        }
    }

    /// The app's server admits and credits before any night has read whose token the purchase bears.
    @Test func s11BWasCreditedForWhatBearsTheTokenOfA() async throws {
        try await withPlay { play in
            let token = "7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5c"
            _ = try await play.server("SELECT iap.register_user(\(Play.bundleID), 'a', \(token)) AS answer")
            let bought = play.buy("1000000000001103") { $0.appAccountToken = token }
            try await play.upload(play.receipt([bought], style: .signedTransaction), by: "b", for: bought)
            #expect(try await play.admit(bought, for: "b") == "white")
            #expect(try await play.claim(bought, for: "b") == "delivered")
            let findings = try await play.night(1).findings
            #expect(findings.suspicions.map(\.kind) == [.misdelivery])
            #expect(findings.suspicions.first?.userIDs == ["a", "b"])
            #expect(try await play.count("finance.misdeliveries WHERE evidence = 'token'") == 1)
        }
    }

    @Test func s12TwoOfThreeInOneReceiptWereNeverClaimed() async throws {
        try await withPlay { play in
            let bought = (1...3).map { play.buy("100000000000120\($0)", hoursAgo: 200 + Double($0)) }
            try await play.upload(play.receipt(bought), for: bought[1])
            try await play.admit(bought[1])
            try await play.claim(bought[1])
            let findings = try await play.night().findings
            #expect(findings.caseIDs == [bought[0].id, bought[2].id])
        }
    }

    @Test func s16OneReceiptWasUploadedByFive() async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000001601")
            let payload = play.receipt([bought])
            let users = (1...5).map { "u\($0)" }
            for user in users { try await play.upload(payload, by: user, for: bought) }
            let findings = try await play.night().findings
            let found = try only(findings)
            #expect(found.assessment.owner.candidates == users)
            #expect(found.assessment.reasons.contains(.ownerAmbiguous))
            #expect(found.assessment.action == .lookOut)
            #expect(findings.suspicions.map(\.kind) == [.manyUsers])
            #expect(play.store.counts.total == 1)
        }
    }

    @Test func s33AReceiptAndItsOrderWerePassedOn() async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000003301")
            try await play.order("a1", by: "anna", hoursAgo: 60)
            try await play.upload(play.receipt([bought]), by: "mallory", for: bought)
            _ = try await play.night()
            #expect(try await play.claim(bought, for: "mallory", order: "a1") == "wrong_user")
            #expect(try await play.claim(bought, for: "mallory", order: "a1") == "wrong_user")
            let suspicions = try await play.night(2).findings.suspicions
            #expect(suspicions.map(\.kind) == [.refusedClaim])
            #expect(suspicions.first?.userIDs == ["mallory"])
            #expect(suspicions.first?.detail == "claimed, in vain, for order a1 of anna")
        }
    }

    @Test func s19OnePeriodOfASubscriptionWasMissed() async throws {
        try await withPlay { play in
            let day = 86_400.0
            let periods = (0..<4).map { index in
                let begin = play.began - 210 * 3600 - Double(3 - index) * 7 * day
                return SimulatedTransaction(
                    id: "100000000000190\(index)", originalID: "1000000000001900", productID: "pass.weekly",
                    purchasedAt: begin, expiresAt: begin + 7 * day)
            }
            play.store.update { $0.add(Subscription(periods: periods, renews: false)) }
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES (\(Play.bundleID), 'pass.weekly', 'auto_renewable', 'Weekly pass')
                """)
            try await play.upload(play.receipt([periods[0]]), for: periods[0])
            for period in [periods[0], periods[1], periods[3]] {
                try await play.admit(period)
                #expect(try await play.claim(period) == "delivered")
            }
            let found = try only(try await play.night().findings)
            #expect(found.key.id.text == periods[2].id)
            #expect(found.productType == .autoRenewable)
        }
    }

    /// A client's `uuidString` is in capital letters, and what Apple signs is not; or the other way round.
    @Test(arguments: [true, false])
    func aTokenMatchesItsOrderInEitherCase(isOrderInCapitals: Bool) async throws {
        let token = "7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b"
        try await withPlay(hasKey: true) { play in
            let lost = play.buy("1000000000000091") {
                $0.appAccountToken = isOrderInCapitals ? token : token.uppercased()
            }
            try await play.order(
                "of-carla", by: "carla", token: isOrderInCapitals ? token.uppercased() : token, hoursAgo: 201)
            try await play.upload(play.receipt([lost], style: .signedTransaction), by: nil, for: lost)
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.assessment.owner.user == "carla")
            #expect(found.assessment.orderIDs == ["of-carla"])
            #expect(try await play.claim(lost, for: "dora") == "wrong_user")
            #expect(try await play.claim(lost, for: "carla", order: "of-carla") == "delivered")
        }
    }

    @Test func s20TwentyUploadsAreVerifiedOnce() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000002001")
            let payload = play.receipt([lost])
            for _ in 1...20 { try await play.upload(payload, for: lost) }
            _ = try only(try await play.night().findings)
            #expect(play.store.counts.total == 1)
            #expect(try await play.count("iap.white") == 1)
            #expect(try await play.count("iap.receipts") == 1)
        }
    }

    @Test func s21WhatIsWithinItsGraceWaitsForTheNextNight() async throws {
        try await withPlay { play in
            // Tonight is an hour from now; the grace is an hour.
            let fresh = play.buy("1000000000002101", hoursAgo: -0.5)
            try await play.upload(play.receipt([fresh]), for: fresh)
            let (report, findings) = try await play.night(1)
            #expect(findings.cases.isEmpty)
            #expect(report.pending == 1)
            let found = try only(try await play.night(2).findings)
            #expect(found.assessment.reasons == [.neverClaimed, .mayStillArrive])
            #expect(found.assessment.likelihood == .medium)
        }
    }

    @Test func s22TheClaimWasRolledBack() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000002201")
            try await play.upload(play.receipt([lost]), for: lost)
            try await play.admit(lost)
            // The server's transaction fails after the claim: it takes the claim back.
            let rolledBack: SQL = """
                DO $$ BEGIN
                    PERFORM iap.claim('com.example.game', '1000000000002201', 'anna', NULL);
                    RAISE division_by_zero;
                EXCEPTION WHEN division_by_zero THEN
                    NULL;
                END $$
                """
            try await play.administer(rolledBack)
            let found = try only(try await play.night().findings)
            #expect(found.assessment.reasons == [.neverClaimed])
        }
    }

    @Test func s22AClaimThatCameTooEarlyIsSaidToHaveFailed() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000002202")
            #expect(try await play.claim(lost) == "not_verified")
            try await play.upload(play.receipt([lost]), for: lost)
            let found = try only(try await play.night().findings)
            #expect(found.assessment.reasons == [.claimFailed])
        }
    }

    @Test func s28PaidInACountryWhereTheAppDoesNotSell() async throws {
        try await withPlay(hasKey: true) { play in
            var play = play
            let app = play.settings.apps[0].app
            play.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: .production, grace: app.grace, since: nil,
                storefronts: ["CHN"])
            // The store takes US dollars in the storefront USA.
            let waiting = play.buy("1000000000002801")
            let served = play.buy("1000000000002802")
            try await play.upload(play.receipt([waiting, served]), for: served)
            #expect(try await play.night(1).findings.cases.count == 2)
            #expect(try await play.claim(served) == "delivered")
            let findings = try await play.night(2).findings
            let found = try only(findings)
            #expect(found.assessment.reasons.contains(.unexpectedStorefront))
            #expect(found.assessment.action == .investigate)
            #expect(findings.suspicions.map(\.kind) == [.unexpectedStorefront])
            #expect(findings.suspicions.first?.subject.transactionID == served.id)
        }
    }
}
