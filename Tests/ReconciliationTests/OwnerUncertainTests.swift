import Foundation
import Reconciliation
import Testing

/// On a shared phone, whether who handed a purchase in is who paid for it.
@Suite struct OwnerUncertainTests {
    private func isUncertain(_ facts: CaseFacts) -> Bool { Assessment(of: facts).reasons.contains(.ownerUncertain) }

    /// Apple's notification was taken at once, and the upload came an hour after the purchase.
    private func uploadedLate(order: String? = nil) throws -> CaseFacts {
        var facts = try Sample.facts(
            sightings: [Sample.sighting("anna", order: order, after: 3600)], age: 30 * 3600)
        facts.notices.sending = .sent
        return facts
    }

    private func rodeAlong() throws -> CaseFacts {
        try Sample.facts(sightings: [Sample.sighting("anna", isNamed: false)], age: 400 * 3600)
    }

    /// Apple's notification was taken at once, or there is none, or nobody takes it, so that nothing more comes; but the
    /// other user of a shared phone may.
    @Test(arguments: [
        (NoticeFacts(sending: .sent), true), (NoticeFacts(isMissing: true), true), (NoticeFacts(), false),
    ])
    func whatWasUploadedLateMayBeAnothersOnThePhone(notices: NoticeFacts, awaitsNotifications: Bool) throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")], age: 30 * 3600)
        (facts.notices, facts.awaitsNotifications) = (notices, awaitsNotifications)
        for (minutes, isLate) in [(1.0, false), (14, false), (16, true), (120, true)] {
            facts.purchasedAt = facts.sightings[0].uploadedAt - minutes * 60
            #expect(isUncertain(facts) == isLate, "\(minutes) minutes")
            #expect(Assessment(of: facts).likelihood == (isLate ? .medium : .high))
            #expect(Assessment(of: facts).action == (isLate ? .contact : .deliver))
        }
        facts.age = 200 * 3600
        #expect(!isUncertain(facts))
    }

    /// Another of the phone's users may restore what was paid hours before, and uploads that at once.
    @Test func whoRestoresItNeedNotHavePaid() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")], age: 30 * 3600)
        facts.notices.sending = .sent
        for (hours, isLate) in [(0.1, false), (10.0, true), (100, true), (200, false)] {
            facts.firstPurchasedAt = facts.purchasedAt - hours * 3600
            #expect(isUncertain(facts) == isLate, "\(hours) hours")
        }
    }

    /// Till then the case waits, and nobody delivers.
    @Test func whileAppleMayStillTellOfItNoOtherNeedComeForIt() throws {
        var facts = try uploadedLate()
        facts.notices.sending = nil
        #expect(Assessment(of: facts).reasons == [.neverClaimed, .mayStillArrive])
    }

    /// Of several uploads the first for the purchase's own sake counts.
    @Test func whatOnlyRodeAlongWhenItWasPaidMayBeAnothersOnThePhone() throws {
        var facts = try uploadedLate()
        let atOnce = Sample.sighting("anna", receiptID: 2)
        facts.sightings.append(atOnce)
        #expect(!isUncertain(facts))
        let along = Sample.sighting("anna", isNamed: false, receiptID: 2)
        facts.sightings[1] = along
        #expect(isUncertain(facts))
        facts.sightings = [along]
        #expect(isUncertain(facts))
    }

    /// All users of the phone share its receipt: theirs was what came with it.
    @Test func whatOnlyCameWithADeliveredPurchaseMayBeAnothersOnThePhone() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting(nil)], age: 400 * 3600)
        facts.companions = ["anna"]
        #expect(Assessment(of: facts).owner == .user("anna") && isUncertain(facts))
        facts.orders = [Sample.order("o-1")]
        #expect(!isUncertain(facts))
        facts.orders = []
        facts.sightings.append(Sample.sighting("anna", isNamed: false, receiptID: 2))
        #expect(!isUncertain(facts))
    }

    @Test func theirOrderMakesALateUploadCertainWhereItCameWithIt() throws {
        var named = try uploadedLate(order: "o-1")
        #expect(isUncertain(named))
        named.orders = [Sample.order("o-1")]
        #expect(!isUncertain(named))
        named.orders = [Sample.order("o-1", of: "ben")]
        #expect(Assessment(of: named).owner == .ambiguous(["ben", "anna"]))
        var unnamed = try uploadedLate()
        unnamed.orders = [Sample.order("o-1")]
        #expect(isUncertain(unnamed))
    }

    /// It was uploaded when it was paid, and StoreKit had not written it down yet.
    @Test func anUploadForItThatDidNotHoldItMakesALateOneCertain() throws {
        var facts = try uploadedLate()
        #expect(isUncertain(facts))
        facts.mentions = [CaseFacts.Mention(userID: "anna", orderID: nil)]
        #expect(!isUncertain(facts))
    }

    @Test(arguments: [true, false], [true, false])
    func whatOnlyRodeAlongAndWasFinishedMayBeAnothersOnThePhone(isFinished: Bool, onlyRodeAlong: Bool) throws {
        var facts = try rodeAlong()
        (facts.isMissingLater, facts.onlyCameWithOthers) = (isFinished, onlyRodeAlong)
        let assessment = Assessment(of: facts)
        #expect(isUncertain(facts) == (isFinished && onlyRodeAlong))
        #expect(assessment.likelihood == (isFinished && onlyRodeAlong ? .medium : .high))
        #expect(assessment.action == (isFinished && onlyRodeAlong ? .contact : .deliver))
    }

    @Test func whoeverTheServerOrTheTokenNamesIsCertain() throws {
        let refused = ClaimAttempt(outcome: .notVerified, userID: "anna", orderID: nil, attemptedAt: Sample.noon)
        let words: [(String, (inout CaseFacts) -> Void)] = [
            ("admitted", { $0.admittedFor = "anna" }), ("claimed", { $0.claims = [refused] }),
            ("token", { $0.tokenOwners = ["anna"] }),
            ("token of an order", { $0.orders = [Sample.order("o-1", bearsToken: true)] }),
        ]
        for (name, say) in words {
            var facts = try rodeAlong()
            (facts.isMissingLater, facts.onlyCameWithOthers) = (true, true)
            say(&facts)
            let assessment = Assessment(of: facts)
            #expect(!isUncertain(facts) && assessment.owner == .user("anna"), "\(name)")
            #expect(assessment.likelihood == .high, "\(name)")
        }
    }
}
