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

    @Test func countsAUserOnceHoweverManyReceiptsTheyUploaded() throws {
        let twenty = (1...20).map { Sample.sighting("anna", after: TimeInterval($0), receiptID: Int64($0)) }
        #expect(try owner(twenty) == .user("anna"))
    }
}
