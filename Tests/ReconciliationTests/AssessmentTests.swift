import Foundation
import Reconciliation
import Testing

@Suite struct AssessmentTests {
    @Test func deliversToTheOneUserWhoNeverClaimed() throws {
        let assessment = Assessment(of: try Sample.facts(sightings: [Sample.sighting("anna")]))
        #expect(assessment.likelihood == .high)
        #expect(assessment.reasons == [.neverClaimed])
        #expect(assessment.owner == .user("anna"))
        #expect(assessment.action == .deliver)
    }

    @Test func saysThatAClaimFailedInPlaceOfNeverClaimed() throws {
        let refused = ClaimAttempt(
            outcome: .notVerified, userID: "anna", orderID: nil, attemptedAt: Sample.noon)
        let facts = try Sample.facts(sightings: [Sample.sighting("anna")], claims: [refused])
        #expect(Assessment(of: facts).reasons == [.claimFailed])
    }

    @Test func saysThatItRodeAlongOnlyWhenNoReceiptNamedIt() throws {
        let along = Sample.sighting("anna", isNamed: false)
        let named = Sample.sighting("anna", isNamed: true, receiptID: 2)
        #expect(Assessment(of: try Sample.facts(sightings: [along])).reasons == [.neverClaimed, .rodeAlong])
        #expect(Assessment(of: try Sample.facts(sightings: [along, named])).reasons == [.neverClaimed])
        #expect(Assessment(of: try Sample.facts()).reasons == [.neverClaimed])
    }

    @Test func asksWhenSeveralUsersPresentedIt() throws {
        let facts = try Sample.facts(sightings: [
            Sample.sighting("anna"), Sample.sighting("ben", after: 60, receiptID: 2),
        ])
        let assessment = Assessment(of: facts)
        #expect(assessment.likelihood == .medium)
        #expect(assessment.reasons == [.neverClaimed, .ownerAmbiguous])
        #expect(assessment.owner == .ambiguous(["anna", "ben"]))
        #expect(assessment.action == .contact)
    }

    @Test func looksFirstAtAProductThatTheAppDoesNotSell() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("anna")])
        facts.isProductKnown = false
        let assessment = Assessment(of: facts)
        #expect(assessment.likelihood == .low)
        #expect(assessment.reasons == [.neverClaimed, .unknownProduct])
        #expect(assessment.action == .investigate)
    }

    @Test func contactsNobodyInParticularWhenNoUserIsKnown() throws {
        let assessment = Assessment(of: try Sample.facts(sightings: [Sample.sighting(nil)]))
        #expect(assessment.owner == .unknown)
        #expect(assessment.owner.candidates == [])
        #expect(assessment.action == .contact)
    }
}

@Suite struct OwnerTests {
    private func owner(_ sightings: [Sighting], admittedFor: String? = nil) throws -> Owner {
        var facts = try Sample.facts(sightings: sightings)
        facts.admittedFor = admittedFor
        return Assessment(of: facts).owner
    }

    @Test func putsWhoUploadedForItBeforeWhoCarriedItAlong() throws {
        let found = try owner([
            Sample.sighting("carrier", isNamed: false, after: -600), Sample.sighting("buyer", receiptID: 2),
        ])
        #expect(found == .ambiguous(["buyer", "carrier"]))
    }

    @Test func putsTheEarlierBeforeTheLaterInWhateverOrderTheyCome() throws {
        let sightings = [
            Sample.sighting("third", after: 20, receiptID: 3), Sample.sighting("first", after: 0, receiptID: 1),
            Sample.sighting("second", after: 10, receiptID: 2),
        ]
        #expect(try owner(sightings) == .ambiguous(["first", "second", "third"]))
        #expect(try owner(sightings.reversed()) == .ambiguous(["first", "second", "third"]))
    }

    @Test func trustsWhomTheServerAdmittedItFor() throws {
        #expect(try owner([Sample.sighting("other")], admittedFor: "anna") == .ambiguous(["anna", "other"]))
        #expect(try owner([], admittedFor: "anna") == .user("anna"))
    }

    /// The strongest first, however few of them come together.
    @Test func whateverSpeaksForAUserIsNamed() throws {
        let refused = ClaimAttempt(outcome: .wrongUser, userID: "claimed", orderID: nil, attemptedAt: Sample.noon)
        var facts = try Sample.facts(
            sightings: [
                Sample.sighting("history", isNamed: false, isInReceipt: false),
                Sample.sighting("carried", isNamed: false), Sample.sighting("uploaded", order: "o-1"),
            ],
            mentions: [CaseFacts.Mention(userID: "mentioned", orderID: nil)], claims: [refused])
        facts.orders = [Sample.order("o-1", of: "order"), Sample.order("o-2", of: "nobody")]
        (facts.tokenOwners, facts.admittedFor, facts.adoptedFor) = (["account_token"], "admitted", "told_support")
        (facts.companions, facts.accountUsers) = (["companion"], ["account"])
        let expected = Evidence.allCases.filter { $0 != .account }.map {
            OwnerCandidate(userID: $0.rawValue, evidence: [$0])
        }
        #expect(Assessment(of: facts).candidates == expected)
    }

    /// The client set it when it was paid.
    @Test func trustsTheTokenOverWhoeverHandedItIn() throws {
        var facts = try Sample.facts(sightings: [Sample.sighting("ben")])
        facts.tokenOwners = ["anna"]
        let assessment = Assessment(of: facts)
        #expect(assessment.owner == .user("anna") && assessment.action == .deliver)
        #expect(assessment.candidates.map(\.evidence) == [[.accountToken], [.uploaded]])
    }

    @Test func countsAUserOnceHoweverManyReceiptsTheyUploaded() throws {
        let twenty = (1...20).map { Sample.sighting("anna", after: TimeInterval($0), receiptID: Int64($0)) }
        #expect(try owner(twenty) == .user("anna"))
    }

    /// To adopt a purchase is to admit it, for whom the support desk names; the server may have admitted it for another.
    @Test(arguments: [("anna", [Evidence.toldSupport]), ("ben", [.admitted])])
    func whomTheServerAdmittedItForCountsBesideWhomTheDeskNames(admittedFor: String, evidence: [Evidence]) throws {
        var facts = try Sample.facts()
        (facts.admittedFor, facts.adoptedFor) = (admittedFor, "anna")
        let candidates = Assessment(of: facts).candidates
        #expect(candidates.first == OwnerCandidate(userID: admittedFor, evidence: evidence))
        #expect(candidates.last == OwnerCandidate(userID: "anna", evidence: [.toldSupport]))
    }

    @Test func whomTheServerAdmittedAnotherIdForCountsAsMuch() throws {
        var facts = try Sample.facts()
        (facts.admittedFor, facts.admittedOtherwiseFor) = ("anna", ["ben"])
        let assessment = Assessment(of: facts)
        #expect(assessment.owner == .ambiguous(["anna", "ben"]))
        #expect(assessment.candidates.allSatisfy { $0.evidence.first == .admitted })
    }

    /// One history has been seen with two accounts.
    @Test func theAccountSpeaksForNobodyBesideWhoHandedItIn() throws {
        for (isInReceipt, users) in [(true, ["ben"]), (false, ["ben", "anna"])] {
            var facts = try Sample.facts(sightings: [
                Sample.sighting("ben", isNamed: false, isInReceipt: isInReceipt)
            ])
            facts.accountUsers = ["anna"]
            #expect(Assessment(of: facts).candidates.map(\.userID) == users)
        }
    }

    @Test(
        arguments: [
            (nil, true, true, true), ("anna", false, false, true), ("anna", false, true, false),
            ("anna", true, false, false),
        ] as [(String?, Bool, Bool, Bool)])
    func whatAUsersReceiptHeldOrWasUploadedForWasHandedIn(
        user: String?, isNamed: Bool, isInReceipt: Bool, isByNobody: Bool
    ) throws {
        let sighting = Sample.sighting(user, isNamed: isNamed, isInReceipt: isInReceipt)
        #expect(try Sample.facts(sightings: [sighting]).wasHandedInByNobody == isByNobody)
        #expect(try Sample.facts(sightings: [Sample.sighting(nil), sighting]).wasHandedInByNobody == isByNobody)
    }
}
