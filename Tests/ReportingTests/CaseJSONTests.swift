import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// What `report.json` says of a case.
@Suite struct CaseJSONTests {
    /// No two moments of it are alike, so that none can stand under another's name.
    private func lostOrder() throws -> ReportedCase {
        func ago(_ minutes: Double) -> Date { Sample.now - minutes * 60 }
        var found = Sample.lostOrder()
        found.assessment = Assessment(
            likelihood: .medium, reasons: [.neverClaimed], owner: .user("anna"),
            candidates: [OwnerCandidate(userID: "anna", evidence: [.uploaded, .carried])],
            orderIDs: ["order-9"], action: .deliver)
        found.originalID = try #require(TransactionID("7"))
        (found.productName, found.productType, found.quantity, found.device) = ("Gold", .nonConsumable, 3, "{}")
        found.claims = [ClaimAttempt(outcome: .wrongUser, userID: "ben", orderID: "o-1", attemptedAt: ago(1))]
        found.comments = [DeskComment(at: ago(2), by: "sue", text: "asked")]
        (found.firstVerifiedAt, found.lastVerifiedAt, found.openedAt) = (ago(4), ago(3), ago(5))
        found.redelivery = OpenRedelivery(
            userID: "anna", orderedAt: ago(7), orderedBy: "sam", tries: 2, takenAt: ago(6))
        found.sightings = [
            Sighting(
                receiptID: 64, userID: "dora", orderID: "o-2", isNamed: true, isInReceipt: false, uploadedAt: ago(8))
        ]
        found.subscription = ReportedSubscription(
            periods: [found.key.id], paidUntil: ago(-1440), entitledUntil: ago(1440))
        found.taking = CaseTaking(by: "tom", since: ago(9))
        (found.answerAppleBy, found.patterns) = (ago(-60), [1])
        (found.isNew, found.isReopened) = (false, true)
        return found
    }

    @Test func eachFactStandsUnderItsName() throws {
        #expect(
            JSONObject(try lostOrder()).text == """
                {"action":"deliver","answer_apple_by":"2026-09-21T15:13:20.000Z","bundle_id":"com.example.game",\
                "candidates":["anna"],"claims":[{"attempted_at":"2026-09-21T14:12:20.000Z","order_id":"o-1",\
                "outcome":"wrong_user","user_id":"ben"}],"comments":[{"at":"2026-09-21T14:11:20.000Z","by":"sue",\
                "text":"asked"}],"currency":"JPY","device":"{}","environment":"Production",\
                "evidence":[{"kinds":["uploaded","carried"],"user_id":"anna"}],\
                "first_verified_at":"2026-09-21T14:09:20.000Z","is_list_price":true,"is_new":false,"is_reopened":true,\
                "last_verified_at":"2026-09-21T14:10:20.000Z","likelihood":"medium",\
                "opened_at":"2026-09-21T14:08:20.000Z","order_ids":["order-9"],"original_transaction_id":"7",\
                "owner":"anna","patterns":[1],"price_milliunits":230000,"product_id":"gold.100","product_name":"Gold",\
                "product_type":"non_consumable","purchased_at":"2026-09-20T13:13:20.000Z","quantity":3,\
                "reasons":["never_claimed"],"redelivery":{"ordered_at":"2026-09-21T14:06:20.000Z","ordered_by":"sam",\
                "taken_at":"2026-09-21T14:07:20.000Z","tries":2,"user_id":"anna"},\
                "sightings":[{"is_in_receipt":false,"is_named":true,"order_id":"o-2","receipt_id":64,\
                "uploaded_at":"2026-09-21T14:05:20.000Z","user_id":"dora"}],"source":"verify_receipt",\
                "subscription":{"entitled_until":"2026-09-20T14:13:20.000Z","paid_until":"2026-09-22T14:13:20.000Z",\
                "transaction_ids":["120000123456789012"]},"taken":{"by":"tom","since":"2026-09-21T14:04:20.000Z"},\
                "transaction_id":"120000123456789012"}
                """)
    }

    @Test func whatIsNotKnownIsLeftOut() throws {
        var found = try lostOrder()
        (found.subscription, found.taking, found.redelivery) = (nil, nil, nil)
        (found.answerAppleBy, found.price) = (nil, nil)
        (found.comments, found.patterns) = ([], [])
        let text = JSONObject(found).text
        for name in [
            "subscription", "taken", "redelivery", "answer_apple_by", "price_milliunits", "currency", "comments",
            "patterns",
        ] {
            #expect(!text.contains("\"\(name)\":"), "\(text)")
        }
    }
}
