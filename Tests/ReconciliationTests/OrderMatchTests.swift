import Foundation
import Reconciliation
import Testing

/// To which of the app's own orders a transaction belongs.
@Suite struct OrderMatchTests {
    private func assess(
        _ orders: [CaseFacts.Order], sightings: [Sighting]? = nil, isTaken: (String) -> Bool = { _ in false }
    ) throws -> Assessment {
        var facts = try Sample.facts(sightings: sightings ?? [Sample.sighting("anna")])
        facts.orders = orders
        return Assessment(of: facts, isTaken: isTaken)
    }

    @Test func matchesTheOneOpenOrderOfUserAndProduct() throws {
        let assessment = try assess([Sample.order("o-1")])
        #expect(assessment.reasons == [.neverClaimed, .orderMatched])
        #expect(assessment.orderIDs == ["o-1"])
        #expect(assessment.action == .deliver)
    }

    /// PostgreSQL tells texts apart by their bytes: these are two users, and two orders.
    @Test(arguments: [("jos\u{E9}", "jose\u{301}"), ("Kate", "\u{212A}ate")])
    func takesNoTextOfOtherBytesForTheSame(one: String, two: String) throws {
        try #require(one == two)
        #expect(try assess([Sample.order("o-1", of: two)], sightings: [Sample.sighting(one)]).orderIDs == [])
        #expect(try assess([Sample.order(one), Sample.order(two)]).reasons == [.neverClaimed, .orderAmbiguous])
        let named = try assess([Sample.order(two, of: "ben")], sightings: [Sample.sighting("anna", order: one)])
        #expect(named.owner == .user("anna"))

        var admitted = try Sample.facts(sightings: [])
        (admitted.admittedFor, admitted.adoptedFor) = (one, two)
        #expect(Assessment(of: admitted) { _ in false }.owner.candidates.count == 2)
    }

    @Test func ranksTheNewestBeforeThePurchaseFirst() throws {
        let assessment = try assess([
            Sample.order("old", before: 900), Sample.order("new", before: 60), Sample.order("middle", before: 300),
        ])
        #expect(assessment.reasons == [.neverClaimed, .orderAmbiguous])
        #expect(assessment.orderIDs == ["new", "middle", "old"])
    }

    @Test func looksBehindThePurchaseOnlyWhereNothingCameBefore() throws {
        let after = [Sample.order("late", before: -20_000), Sample.order("soon", before: -9_000)]
        #expect(try assess(after).orderIDs == ["soon", "late"])
        #expect(try assess(after + [Sample.order("before")]).orderIDs == ["before"])
    }

    @Test func toleratesAClockThatIsTwoHoursAhead() throws {
        #expect(
            try assess([Sample.order("o-1", before: -7_000), Sample.order("o-2", before: -9_000)]).orderIDs == ["o-1"])
    }

    @Test func trustsTheTokenOverWhoeverHandsItIn() throws {
        let assessment = try assess(
            [Sample.order("o-1"), Sample.order("o-2", of: "ben", bearsToken: true)],
            sightings: [Sample.sighting("anna")])
        #expect(assessment.orderIDs == ["o-2"])
        #expect(assessment.owner == .user("ben"))
        #expect(assessment.candidates.map(\.userID) == ["ben", "anna"])
        #expect(assessment.candidates.first?.evidence == [.accountToken])
    }

    /// `iap.claim` gives it to neither.
    @Test func aTokenAndAnOrderOfTwoUsersLeaveTheOwnerOpen() throws {
        let assessment = try assess(
            [Sample.order("o-1"), Sample.order("o-2", of: "ben", bearsToken: true)],
            sightings: [Sample.sighting("anna", order: "o-1")])
        #expect(assessment.orderIDs == ["o-2"])
        #expect(assessment.owner == .ambiguous(["ben", "anna"]) && assessment.reasons.contains(.ownerAmbiguous))
    }

    @Test func anOrderThatCameWithALaunchUploadSpeaksForItsUser() throws {
        let brought = [Sample.sighting("bob", isNamed: false, order: "o-1")]
        let other = try assess([Sample.order("o-1", of: "alice")], sightings: brought)
        #expect(other.owner == .ambiguous(["alice", "bob"]))
        let own = try assess(
            [Sample.order("o-1", of: "bob"), Sample.order("o-2", of: "bob")], sightings: brought)
        #expect(own.owner == .user("bob") && own.orderIDs == ["o-1"])
    }

    /// Who uploads what another has passed on leads Apple to that customer's whole history.
    @Test func anUploadsOrderIsNotOfWhatAppleToldBesides() throws {
        let told = Sample.sighting("bob", isNamed: false, isInReceipt: false, order: "o-1")
        var facts = try Sample.facts(sightings: [told])
        (facts.orders, facts.accountUsers) = ([Sample.order("o-1", of: "bob")], ["anna"])
        let assessment = Assessment(of: facts)
        #expect(assessment.owner == .ambiguous(["bob", "anna"]) && assessment.reasons.contains(.ownerAmbiguous))
        #expect(assessment.candidates.first?.evidence == [.history])
    }

    /// Swift takes the two for equal, the ledger does not.
    @Test func usersWhoseIDsLookAlikeAreTwo() throws {
        let (one, two) = ("\u{E9}", "e\u{301}")
        let assessment = Assessment(of: try Sample.facts(sightings: [Sample.sighting(one), Sample.sighting(two)]))
        #expect(assessment.reasons.contains(.ownerAmbiguous) && assessment.candidates.count == 2)
    }

    /// Of a phone's two users, the one who was never delivered anything may have paid.
    @Test func theAccountAloneDoesNotMakeAnOwnerCertain() throws {
        var facts = try Sample.facts()
        facts.accountUsers = ["anna"]
        let alone = Assessment(of: facts)
        #expect(alone.owner == .user("anna") && alone.reasons.contains(.ownerUncertain))
        #expect(alone.likelihood == .medium && alone.action == .contact)
        facts.orders = [Sample.order("o-1")]
        let ordered = Assessment(of: facts)
        #expect(ordered.owner == .user("anna") && ordered.orderIDs == ["o-1"])
        #expect(!ordered.reasons.contains(.ownerUncertain) && ordered.likelihood == .high)
        #expect(Assessment(of: facts, isTaken: { _ in true }).reasons.contains(.ownerUncertain))
    }

    /// The customer told Apple that nothing came: which of the phone's users that is, the account doesn't say.
    @Test func whatIsCertainlyLostNamesNoOwnerWhoIsUncertain() throws {
        var facts = try Sample.facts()
        facts.accountUsers = ["anna"]
        facts.notices.askedAt = facts.purchasedAt + 3600
        let found = Assessment(of: facts)
        #expect(found.likelihood == .high && found.reasons.contains(.ownerUncertain))
        #expect(found.owner == .unknown && found.action == .contact)
        #expect(found.candidates == [OwnerCandidate(userID: "anna", evidence: [.account])])
        facts.orders = [Sample.order("o-1")]
        let ordered = Assessment(of: facts)
        #expect(ordered.likelihood == .high && ordered.owner == .user("anna") && ordered.action == .deliver)
    }

    @Test func trustsTheOrderThatCameWithTheReceipt() throws {
        let assessment = try assess(
            [Sample.order("o-1"), Sample.order("o-2")], sightings: [Sample.sighting("anna", order: "o-2")])
        #expect(assessment.orderIDs == ["o-2"])
        #expect(assessment.reasons.contains(.orderMatched))
    }

    @Test func givesNoOrderToTwoTransactions() throws {
        let assessment = try assess([Sample.order("o-1"), Sample.order("o-2")], isTaken: { $0 == "o-1" })
        #expect(assessment.orderIDs == ["o-2"])
        #expect(try assess([Sample.order("o-1")], isTaken: { _ in true }).reasons == [.neverClaimed])
    }

    @Test func namesNoOrderThatAnotherPurchaseWasDeliveredFor() throws {
        var facts = try Sample.facts(
            sightings: [Sample.sighting("anna", order: "o-1")],
            claims: [
                ClaimAttempt(outcome: .orderUsed, userID: "anna", orderID: "o-1", attemptedAt: Sample.noon)
            ])
        #expect(Assessment(of: facts).orderIDs == ["o-1"])
        facts.usedOrderIDs = ["o-1"]
        #expect(Assessment(of: facts).reasons == [.claimFailed])
        facts.orders = [Sample.order("o-2")]
        #expect(Assessment(of: facts).orderIDs == ["o-2"])
    }

    /// A client that named an order for one purchase may name it again for the next.
    @Test func anOrderThatCameWithTheReceiptAndIsTakenIsOutOfTheQuestion() throws {
        let named = [Sample.sighting("anna", order: "o-1")]
        let taken = try assess([Sample.order("o-1")], sightings: named, isTaken: { $0 == "o-1" })
        #expect(taken.orderIDs == [] && taken.reasons == [.neverClaimed])
        let other = try assess(
            [Sample.order("o-1"), Sample.order("o-2")], sightings: named, isTaken: { $0 == "o-1" })
        #expect(other.orderIDs == ["o-2"])
    }

    @Test func anOrderThatCameWithSeveralUploadsIsOne() throws {
        let uploads = [Sample.sighting("anna", order: "o-1"), Sample.sighting("anna", order: "o-1", receiptID: 2)]
        #expect(try assess([], sightings: uploads).reasons == [.neverClaimed, .orderMatched])
        let refused = ClaimAttempt(outcome: .notVerified, userID: "anna", orderID: "o-1", attemptedAt: Sample.noon)
        let facts = try Sample.facts(
            sightings: uploads, mentions: [CaseFacts.Mention(userID: "anna", orderID: "o-1")], claims: [refused])
        #expect(Assessment(of: facts).orderIDs == ["o-1"])
    }

    /// It may be for any of the purchases that the receipt holds; one that was named for this purchase is for it.
    @Test func anOrderThatCameWithALaunchUploadHasToFit() throws {
        let unfit = CaseFacts.Order(id: "o-1", userID: "anna", createdAt: Sample.noon, bearsToken: false, fits: false)
        for (isNamed, ids) in [(false, []), (true, ["o-1"])] {
            let upload = Sample.sighting("anna", isNamed: isNamed, order: "o-1")
            #expect(try assess([unfit], sightings: [upload]).orderIDs == ids)
        }
    }

    @Test func takesNoOrderOfSomebodyElse() throws {
        #expect(try assess([Sample.order("o-1", of: "ben")]).orderIDs == [])
    }
}

/// What else makes a case, and how likely it is.
@Suite struct ReasonTests {
    @Test func aConsumableThatALaterReceiptLacksIsFinal() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")], age: 3600)
        facts.isMissingLater = true
        let assessment = Assessment(of: facts)
        #expect(assessment.reasons == [.neverClaimed, .finishedUndelivered, .mayStillArrive])
        #expect(assessment.likelihood == .high)
        #expect(assessment.action == .deliver)
        facts.productType = .nonConsumable
        #expect(!Assessment(of: facts).reasons.contains(.finishedUndelivered))
    }

    @Test(arguments: [(156.9, true), (157.0, false), (1000, false)])
    func whatApplesNotificationsMayStillBringHomeIsNotHigh(hours: Double, mayArrive: Bool) throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")], age: hours * 3600)
        let assessment = Assessment(of: facts)
        #expect(assessment.reasons.contains(.mayStillArrive) == mayArrive)
        #expect(assessment.likelihood == (mayArrive ? .medium : .high))
        #expect(assessment.action == (mayArrive ? .wait : .deliver))
        facts.wasCaseBefore = true
        #expect(Assessment(of: facts).action == .deliver)
        (facts.wasCaseBefore, facts.nightsConfirmed) = (false, 2)
        #expect(Assessment(of: facts).action == .deliver)
        facts.awaitsNotifications = false
        #expect(Assessment(of: facts).likelihood == .high)
    }

    /// What Apple's history says of its sending decides over what the configuration says of the app's server.
    @Test(
        arguments: [(.sent, false), (.failed, false), (.retrying, true)] as [(NoticeSending.State, Bool)],
        [true, false])
    func whatAppleSendsAgainMayStillArrive(sending: (NoticeSending.State, Bool), awaitsNotifications: Bool) throws {
        let (state, mayArrive) = sending
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")], age: 3600)
        (facts.notices.sending, facts.awaitsNotifications) = (state, awaitsNotifications)
        #expect(Assessment(of: facts).reasons.contains(.mayStillArrive) == mayArrive)
        facts.notices.isMissing = true
        #expect(!Assessment(of: facts).reasons.contains(.mayStillArrive))
    }

    @Test func thatMoreIsKnownThanIsLookedAtIsSaid() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")])
        facts.isCutShort = true
        #expect(Assessment(of: facts).reasons == [.neverClaimed, .cutShort])
    }

    /// Apple decides within hours of its question.
    @Test func whatACustomerAskedAppleForIsNotWaitedFor() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")], age: 3600)
        #expect(Assessment(of: facts).action == .wait)
        facts.notices.askedAt = facts.purchasedAt + 60
        let assessment = Assessment(of: facts)
        #expect(assessment.reasons == [.neverClaimed, .askedApple, .mayStillArrive])
        #expect(assessment.likelihood == .high && assessment.action == .deliver)
        #expect(NoticeFacts.deadline(askedAt: Sample.noon) == Sample.noon + 43_200)
    }

    @Test func threeUsersAreAMatterOfFraud() throws {
        let users = ["a", "b", "c"].enumerated().map { Sample.sighting($1, receiptID: Int64($0)) }
        let assessment = Assessment(of: try Sample.facts(sightings: users))
        #expect(assessment.action == .lookOut)
        #expect(assessment.likelihood == .medium)
    }

    @Test func whoNamedItWithWhatDoesNotHoldItMayBeTheOwner() throws {
        let facts = try Sample.facts(
            sightings: [Sample.sighting("ben", isNamed: false)],
            mentions: [CaseFacts.Mention(userID: "anna", orderID: "o-1"), CaseFacts.Mention(userID: nil, orderID: nil)])
        let assessment = Assessment(of: facts)
        #expect(assessment.owner == .ambiguous(["anna", "ben"]))
        #expect(assessment.candidates.map(\.evidence) == [[.mentioned], [.carried]])
        #expect(assessment.orderIDs == ["o-1"])
        #expect(assessment.likelihood == .medium)
    }

    @Test func aDeliveryBesideItSpeaksForAnotherOwner() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("ben")])
        facts.companions = ["anna"]
        let assessment = Assessment(of: facts)
        #expect(assessment.owner == .ambiguous(["ben", "anna"]))
        #expect(assessment.candidates.last?.evidence == [.companion])
        facts.companions = ["ben"]
        #expect(Assessment(of: facts).owner == .user("ben"))
    }

    @Test func whatNoReceiptHeldIsSaidSo() throws {
        let history = Sample.sighting("anna", isNamed: false, isInReceipt: false)
        let assessment = Assessment(of: try Sample.facts(sightings: [history]))
        #expect(assessment.reasons == [.neverClaimed, .noReceipt])
        #expect(assessment.candidates.first?.evidence == [.history])
        let held = Sample.sighting("anna", receiptID: 2)
        #expect(Assessment(of: try Sample.facts(sightings: [history, held])).reasons == [.neverClaimed])
    }

    @Test func anUnexpectedStorefrontIsLookedAtFirst() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")])
        facts.isStorefrontUnexpected = true
        let assessment = Assessment(of: facts)
        #expect(assessment.reasons.contains(.unexpectedStorefront))
        #expect(assessment.action == .investigate)
        let app = App(
            bundleID: try Sample.bundleID(), environment: .production, grace: Grace(0), since: nil,
            storefronts: ["CHN", "HKG"])
        #expect(app.isUnexpected(storefront: "TUR"))
        #expect(!app.isUnexpected(storefront: "HKG"))
        #expect(!(try Sample.app()).isUnexpected(storefront: "TUR"))
    }
}
