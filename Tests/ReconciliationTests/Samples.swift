import Foundation
import Reconciliation
import Testing

/// Values that the tests vary in one point each.
enum Sample {
    static let noon = Date(timeIntervalSince1970: 1_790_000_000)

    static func transactionID(_ text: String = "2000000847061981") throws -> TransactionID {
        try #require(TransactionID(text))
    }

    static func bundleID(_ text: String = "com.example.game") throws -> BundleID {
        try #require(BundleID(text))
    }

    static func key(
        _ id: String = "2000000847061981", of bundleID: String = "com.example.game",
        environment: Environment = .production
    ) throws -> TransactionKey {
        TransactionKey(id: try transactionID(id), bundleID: try Self.bundleID(bundleID), environment: environment)
    }

    static func transaction(_ id: String = "2000000847061981", originalID: String? = nil) throws -> Transaction {
        Transaction(
            id: try transactionID(id), originalID: try originalID.map { try transactionID($0) },
            productID: try #require(ProductID("gems.100")), purchasedAt: noon)
    }

    static func app(since: Date? = nil, environment: Environment = .production) throws -> App {
        App(bundleID: try bundleID(), environment: environment, grace: Grace(3600), since: since)
    }

    static func subject(
        _ transaction: Transaction, environment: Environment = .production, foundBundleID: BundleID? = nil,
        app: App? = nil, productType: ProductType? = .consumable, isOriginalKnown: Bool = false
    ) throws -> ScreeningSubject {
        ScreeningSubject(
            transaction: transaction, environment: environment, foundBundleID: foundBundleID,
            app: try app ?? Self.app(), productType: productType, isOriginalKnown: isOriginalKnown)
    }

    static func receipt(
        _ id: Int64 = 1, userID: String? = "anna", orderID: String? = nil, purposes: [InboxReceipt.Purpose] = []
    ) -> InboxReceipt {
        InboxReceipt(
            id: id, bundleID: "com.example.game", userID: userID, orderID: orderID, purposes: purposes,
            submittedAt: noon)
    }

    /// Paid so long ago that no notification of Apple's can still come, unless the age says otherwise.
    static func facts(
        sightings: [Sighting] = [], mentions: [CaseFacts.Mention] = [], claims: [ClaimAttempt] = [],
        age: TimeInterval = 30 * 86_400
    ) throws -> CaseFacts {
        var facts = CaseFacts(
            key: try key(), productID: try #require(ProductID("gems.100")), productType: .consumable,
            isProductKnown: true, quantity: 1, purchasedAt: noon, nightsConfirmed: 1, age: age)
        facts.sightings = sightings
        facts.mentions = mentions
        facts.claims = claims
        return facts
    }

    static func sighting(
        _ user: String?, isNamed: Bool = true, isInReceipt: Bool = true, order: String? = nil,
        after seconds: TimeInterval = 0, receiptID: Int64 = 1
    ) -> Sighting {
        Sighting(
            receiptID: receiptID, userID: user, orderID: order, isNamed: isNamed, isInReceipt: isInReceipt,
            uploadedAt: noon + seconds)
    }

    /// An order that was opened so many seconds before the purchase; after it, if negative.
    static func order(
        _ id: String, of user: String = "anna", before seconds: TimeInterval = 60, bearsToken: Bool = false
    ) -> CaseFacts.Order {
        CaseFacts.Order(id: id, userID: user, createdAt: noon - seconds, bearsToken: bearsToken)
    }

    static func known(_ place: KnownTransaction.Place) throws -> KnownTransaction {
        KnownTransaction(
            key: try key(), originalID: try transactionID(), productID: try #require(ProductID("gems.100")),
            productName: nil, productType: .consumable, quantity: 1, purchasedAt: noon, price: nil, isListPrice: false,
            source: .verifyReceipt, place: place)
    }

    static func excluded(_ cause: NotOwed.Cause, refundedAt: Date? = nil) -> KnownTransaction.Place {
        .excluded(NotOwed(cause: cause, excludedAt: noon, refundedAt: refundedAt, foundBundleID: nil))
    }
}
