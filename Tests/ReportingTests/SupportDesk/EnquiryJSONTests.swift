import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// What programs read of an enquiry. No two facts of one are alike, so that none can stand under another's name.
@Suite struct EnquiryJSONTests {
    private func ago(_ minutes: Double) -> Date { Sample.now - minutes * 60 }

    private func key(_ id: String) throws -> TransactionKey {
        TransactionKey(
            id: try #require(TransactionID(id)), bundleID: try #require(BundleID("com.example.game")),
            environment: .production)
    }

    private func known(_ place: KnownTransaction.Place) throws -> KnownTransaction {
        KnownTransaction(
            key: try key("8"), originalID: try key("7").id, productID: try #require(ProductID("gems.60")),
            productName: nil, productType: nil, quantity: 2, purchasedAt: ago(30), price: nil, isListPrice: false,
            source: .serverAPI, place: place)
    }

    private func expect(
        _ parts: [String], in enquiry: Enquiry, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let json = try EnquiryJSON.text(of: enquiry)
        for part in parts { #expect(json.contains(part), "\(json)", sourceLocation: location) }
    }

    @Test func whatIsOwed() throws {
        var purchase = try known(
            .white(
                Owed(
                    firstSeenAt: ago(2), verifiedAt: ago(1), nightsConfirmed: 5, admittedFor: "dora",
                    graceEndsAt: ago(-60))))
        purchase.owners = ["anna", "ben"]
        purchase.lostOrder = KnownCase(
            assessment: Assessment(
                likelihood: .medium, reasons: [.claimFailed], owner: .user("anna"),
                candidates: [OwnerCandidate(userID: "carl", evidence: [.uploaded, .carried])], orderIDs: ["o-9"],
                action: .investigate),
            openedAt: ago(4), closing: KnownCase.Closing(how: .dismissed, who: "sam", at: ago(3), note: "by mail"))
        purchase.redelivery = OpenRedelivery(
            userID: "eve", orderedAt: ago(6), orderedBy: "tom", tries: 3, takenAt: ago(5))
        purchase.sightings = [
            Sighting(
                receiptID: 64, userID: "finn", orderID: "o-1", isNamed: true, isInReceipt: false, uploadedAt: ago(7))
        ]
        purchase.events = [
            KnownEvent(happenedAt: ago(8), kind: "reopened", actor: "sue", runID: 4, details: ["was": "dismissed"])
        ]
        var enquiry = Enquiry(id: "8")
        enquiry.transactions = [purchase]
        try expect(
            [
                #""admitted_for":"dora","bundle_id":"com.example.game","case":{"action":"investigate""#,
                #""candidates":[{"evidence":["uploaded","carried"],"user_id":"carl"}]"#,
                """
                "closed_as":"dismissed","closed_at":"2026-09-21T14:10:20.000Z","closed_by":"sam",\
                "likelihood":"medium","note":"by mail","opened_at":"2026-09-21T14:09:20.000Z","order_ids":["o-9"],\
                "owner":"anna","reasons":["claim_failed"]
                """,
                """
                "events":[{"actor":"sue","details":{"was":"dismissed"},"happened_at":"2026-09-21T14:05:20.000Z",\
                "kind":"reopened","run_id":4}],"first_seen_at":"2026-09-21T14:11:20.000Z",\
                "grace_ends_at":"2026-09-21T15:13:20.000Z","is_list_price":false,"nights_confirmed":5,\
                "original_transaction_id":"7","owners":["anna","ben"],"place":"white"
                """,
                """
                "redelivery":{"ordered_at":"2026-09-21T14:07:20.000Z","ordered_by":"tom",\
                "taken_at":"2026-09-21T14:08:20.000Z","tries":3,"user_id":"eve"}
                """,
                """
                "sightings":[{"is_in_receipt":false,"is_named":true,"order_id":"o-1","receipt_id":64,\
                "uploaded_at":"2026-09-21T14:06:20.000Z","user_id":"finn"}],"source":"server_api",\
                "transaction_id":"8","verdict":"redelivering","verified_at":"2026-09-21T14:12:20.000Z"
                """,
            ], in: enquiry)
    }

    @Test func whatIsNotOwed() throws {
        let excluded = NotOwed(
            cause: .rule(.foreignBundle), excludedAt: ago(1), refundedAt: ago(2), foundBundleID: "com.example.other")
        var enquiry = Enquiry(id: "8")
        enquiry.transactions = [try known(.excluded(excluded))]
        try expect(
            [
                """
                "excluded_at":"2026-09-21T14:12:20.000Z","exclusion":"foreign_bundle",\
                "found_bundle_id":"com.example.other"
                """, #""place":"excluded""#, #""refunded_at":"2026-09-21T14:11:20.000Z""#,
            ], in: enquiry)
        let dismissed = NotOwed(cause: .dismissed, excludedAt: ago(1), refundedAt: nil, foundBundleID: nil)
        enquiry.transactions = [try known(.excluded(dismissed))]
        try expect([#""exclusion":"dismissed""#, #""verdict":"not_owed""#], in: enquiry)
    }

    @Test func whatElseIsKnownOfAnID() throws {
        var enquiry = Enquiry(id: "anna")
        enquiry.isCut = true
        enquiry.orders = [
            KnownOrder(
                bundleID: "com.example.game", orderID: "o-2", userID: "ben", productID: "gems.60", quantity: 3,
                createdAt: ago(1))
        ]
        let delivery = Delivery(
            userID: "carl", orderID: "o-4", deliveredBy: .claim, deliveredAt: ago(3), refundedAt: ago(2))
        enquiry.user = KnownUser(
            deliveries: [
                KnownUser.Delivered(
                    key: try key("9"), productID: try #require(ProductID("gems.60")), delivery: delivery)
            ], waitingReceipts: 2, watchedReceipts: 4, receipts: 9)
        enquiry.strayClaims = [
            StrayClaim(
                transactionID: "11", bundleID: "com.example.puzzle",
                attempt: ClaimAttempt(outcome: .notVerified, userID: "dora", orderID: "o-5", attemptedAt: ago(4)))
        ]
        enquiry.troubledReceipts = [
            KnownReceipt(
                receiptID: 128, bundleID: "com.example.game", userID: "eve", orderID: "o-6", transactionID: "12",
                device: "{}", submittedAt: ago(5), state: .unusable, attempts: 7, problem: .malformed, detail: "no")
        ]
        try expect(
            [
                """
                "claims":[{"attempted_at":"2026-09-21T14:09:20.000Z","bundle_id":"com.example.puzzle",\
                "order_id":"o-5","outcome":"not_verified","transaction_id":"11","user_id":"dora"}],"id":"anna",\
                "is_cut":true,"orders":[{"bundle_id":"com.example.game","created_at":"2026-09-21T14:12:20.000Z",\
                "order_id":"o-2","product_id":"gems.60","quantity":3,"user_id":"ben"}],"receipts":[{"action":
                """,
                """
                "attempts":7,"bundle_id":"com.example.game","detail":"no","device":"{}","order_id":"o-6",\
                "problem":"malformed","receipt_id":128,"state":"unusable",\
                "submitted_at":"2026-09-21T14:08:20.000Z","transaction_id":"12","user_id":"eve"}]
                """,
                """
                "user":{"deliveries":[{"bundle_id":"com.example.game","delivered_at":"2026-09-21T14:10:20.000Z",\
                "delivered_by":"claim","environment":"Production","order_id":"o-4","product_id":"gems.60",\
                "refunded_at":"2026-09-21T14:11:20.000Z","transaction_id":"9","user_id":"carl"}],"receipts":9,\
                "waiting_receipts":2,"watched_receipts":4}
                """,
            ], in: enquiry)
    }

    @Test func whatAppleAnswers() throws {
        var enquiry = Enquiry(id: "8")
        enquiry.apple = .notAsked("no app has a key")
        try expect([#""apple":{"answers":{},"not_asked":"no app has a key"}"#], in: enquiry)
        let (game, other) = (try key("8").bundleID, try #require(BundleID("com.example.other")))
        enquiry.apple = .asked([
            AppleAnswer.Answer(bundleID: game, finding: .notFound("Apple knows none")),
            AppleAnswer.Answer(bundleID: other, finding: .failed("Apple is down")),
        ])
        try expect(
            [#""apple":{"answers":{"com.example.game":"Apple knows none","com.example.other":"Apple is down"}}"#],
            in: enquiry)
        var told = Transaction(
            id: try key("8").id, originalID: nil, productID: try #require(ProductID("gems.60")), quantity: 2,
            purchasedAt: ago(2))
        told.refundedAt = ago(1)
        told.price = Money(milliunits: 990, currency: try #require(CurrencyCode("USD")))
        told.appAccountToken = "t"
        enquiry.apple = .asked([
            AppleAnswer.Answer(
                bundleID: game, finding: .found([ApplesTransaction(key: try key("8"), transaction: told)]))
        ])
        try expect(
            [
                """
                "apple_transactions":[{"app_account_token":"t","bundle_id":"com.example.game","currency":"USD",\
                "environment":"Production","price_milliunits":990,"product_id":"gems.60",\
                "purchased_at":"2026-09-21T14:11:20.000Z","quantity":2,"refunded_at":"2026-09-21T14:12:20.000Z",\
                "transaction_id":"8"}]
                """
            ], in: enquiry)
    }
}
