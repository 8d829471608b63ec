import Foundation
import Testing

@testable import AppStore

@Suite struct SignedTransactionTests {
    /// What `TestPayload.transaction` leaves out.
    static let everyField = """
        ,"webOrderLineItemId":"2000000098765432","subscriptionGroupIdentifier":"20900001",\
        "originalPurchaseDate":1700000001000,"expiresDate":1702592000000,"appAccountToken":"user 42, not a UUID",\
        "inAppOwnershipType":"FAMILY_SHARED","revocationDate":1700500000500,"revocationReason":1,\
        "revocationType":"REFUND_PRORATED","revocationPercentage":50000,"isUpgraded":true,"offerType":2,\
        "offerIdentifier":"summer","offerDiscountType":"PAY_UP_FRONT","storefront":"JPN","storefrontId":"143462",\
        "transactionReason":"RENEWAL","currency":"JPY","price":230000,"appTransactionId":"704","newsOfApple":{"a":[1]}
        """

    private func read(_ json: String) throws -> SignedTransaction {
        SignedTransaction(try #require(JSONObject(Array(json.utf8))))
    }

    @Test func readsEveryField() throws {
        let signed = try read(TestPayload.transaction(signedAt: 1_700_000_002_500, further: Self.everyField))
        #expect(signed.webOrderLineItemID == "2000000098765432")
        #expect(signed.subscriptionGroupID == "20900001")
        #expect(signed.purchaseDate == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(signed.originalPurchaseDate == Date(timeIntervalSince1970: 1_700_000_001))
        #expect(signed.expiresDate == Date(timeIntervalSince1970: 1_702_592_000))
        #expect(signed.signedDate == Date(timeIntervalSince1970: 1_700_000_002.5))
        #expect(signed.appAccountToken == "user 42, not a UUID")
        #expect(signed.ownershipType == "FAMILY_SHARED")
        #expect(signed.revocationDate == Date(timeIntervalSince1970: 1_700_500_000.5))
        #expect(signed.revocationReason == "1")
        #expect(signed.revocationType == "REFUND_PRORATED")
        #expect(signed.revocationPercentage == 50_000)
        #expect(signed.isUpgraded)
        #expect(signed.offerType == 2)
        #expect(signed.offerID == "summer")
        #expect(signed.offerDiscountType == "PAY_UP_FRONT")
        #expect(signed.storefront == "JPN")
        #expect(signed.storefrontID == "143462")
        #expect(signed.transactionReason == "RENEWAL")
        #expect(signed.currency == "JPY")
        #expect(signed.priceMilliunits == 230_000)
        #expect(signed.appTransactionID == "704")
        #expect(signed.type == "Consumable")
    }

    @Test func becomesATransactionOfTheRoom() throws {
        let transaction = try read(TestPayload.transaction("2000000847061981", further: Self.everyField)).transaction()
        #expect(transaction.transactionID == "2000000847061981")
        #expect(transaction.originalTransactionID == "2000000847061981")
        #expect(transaction.productID == "gems_100")
        #expect(transaction.quantity == 1)
        #expect(transaction.purchaseDate == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(transaction.originalPurchaseDate == Date(timeIntervalSince1970: 1_700_000_001))
        #expect(transaction.expiresDate == Date(timeIntervalSince1970: 1_702_592_000))
        #expect(transaction.cancellationDate == Date(timeIntervalSince1970: 1_700_500_000.5))
        #expect(transaction.cancellationReason == "1")
        #expect(transaction.revocationType == "REFUND_PRORATED")
        #expect(transaction.revocationPercentage == 50_000)
        #expect(transaction.ownershipType == "FAMILY_SHARED")
        #expect(transaction.isUpgraded)
        #expect(!transaction.isTrialPeriod && !transaction.isInIntroOfferPeriod)
        #expect(transaction.webOrderLineItemID == "2000000098765432")
        #expect(transaction.appAccountToken == "user 42, not a UUID")
        #expect(transaction.appTransactionID == "704")
        #expect(transaction.promotionalOfferID == "summer")
        #expect(transaction.offerCodeRefName == nil)
        #expect(transaction.subscriptionGroupID == "20900001")
        #expect(transaction.productType == "Consumable")
        #expect(transaction.priceMilliunits == 230_000)
        #expect(transaction.currency == "JPY")
        #expect(transaction.storefront == "JPN")
    }

    /// An absurd part of the price is none, and hides no refund.
    @Test(arguments: [
        ("0", 0), ("100000", 100_000), (#""33333""#, 33_333), ("-1", nil), ("100001", nil), ("1e9", nil),
        ("99999999999999999999", nil), ("50000.5", nil), (#""half""#, nil), ("{}", nil), ("null", nil),
    ])
    func readsThePartThatWasRefunded(sent: String, percentage: Int?) throws {
        let further = #","revocationDate":1700500000500,"revocationType":"A_NEW_WORD","revocationPercentage":\#(sent)"#
        let transaction = try read(TestPayload.transaction(further: further)).transaction()
        #expect(transaction.revocationPercentage == percentage)
        #expect(transaction.revocationType == "A_NEW_WORD")
        #expect(transaction.cancellationDate == Date(timeIntervalSince1970: 1_700_500_000.5))
    }

    /// Of seats `price` is the average of one, and not what was paid.
    @Test(arguments: [
        (#"{"priceTiers":[{"price":9990,"quantity":5},{"price":"7990","quantity":3}]}"#, 73920),
        (#"{"priceTiers":{"price":9240,"quantity":8},"revokedSeatQuantity":2}"#, 73920),
        (#"{"priceTiers":[{"price":9240,"quantity":8},{"price":1}]}"#, nil), (#"{"priceTiers":[7]}"#, nil),
        (#"{"priceTiers":[{"price":9223372036854775807,"quantity":2}]}"#, nil), (#"{"priceTiers":[]}"#, nil),
        ("{}", nil), ("null", 9240), (#""later""#, 9240),
    ])
    func readsThePriceOfAllSeats(seats: String, price: Int?) throws {
        let further = #","currency":"USD","price":9240,"multiSeatInfo":\#(seats)"#
        let signed = try read(TestPayload.transaction(further: further))
        #expect(try signed.transaction().priceMilliunits == price.map(Int64.init))
    }

    /// Else seats that were added to a period would pass for the same purchase, restored.
    @Test(arguments: [
        (#","additionalTransactionReason":"SEAT_ADDITION""#, nil), (#","additionalTransactionReason":null"#, "900"),
        ("", "900"),
    ])
    func ofSeveralPurchasesOfOnePeriodNoneIsThePeriod(further: String, period: String?) throws {
        let transaction = try read(TestPayload.transaction(further: #","webOrderLineItemId":"900""# + further))
        #expect(try transaction.transaction().webOrderLineItemID == period)
    }

    /// What Apple added since: none of it is needed, and none of it makes a payload unreadable.
    @Test func survivesWhatAppleAdded() throws {
        let further = """
            ,"offerPeriod":"P1M","billingPlanType":"MONTHLY","previousOriginalTransactionId":"1",\
            "advancedCommerceInfo":{"items":[{"SKU":"a","price":1,"refunds":[{"amount":1}]}],"taxCode":"C1"},\
            "commitmentInfo":{"commitmentPeriods":[1,2,{}]}
            """
        #expect(try read(TestPayload.transaction("7", further: further)).transaction().transactionID == "7")
    }

    @Test(arguments: [
        (#","offerType":1,"offerDiscountType":"FREE_TRIAL""#, true, false),
        (#","offerType":1,"offerDiscountType":"PAY_AS_YOU_GO""#, false, true), (#","offerType":1"#, false, true),
        (#","offerType":3,"offerIdentifier":"code""#, false, false), ("", false, false),
    ])
    func tellsTrialsFromIntroductoryOffers(further: String, isTrial: Bool, isIntro: Bool) throws {
        let transaction = try read(TestPayload.transaction(further: further)).transaction()
        #expect(transaction.isTrialPeriod == isTrial)
        #expect(transaction.isInIntroOfferPeriod == isIntro)
        #expect(transaction.offerCodeRefName == (further.contains("code") ? "code" : nil))
    }

    @Test func takesOneForTheQuantityThatIsLeftOut() throws {
        let json = TestPayload.transaction().replacing(#""quantity":1,"#, with: "")
        #expect(try read(json).transaction().quantity == 1)
        #expect(try read(TestPayload.transaction().replacing(#":1,"type"#, with: #":7,"type"#)).quantity == 7)
    }

    @Test func survivesFieldsOfAnotherType() throws {
        let signed = try read(
            #"{"transactionId":2000000847061981,"purchaseDate":"1700000000000","price":"99","isUpgraded":"true","#
                + #""storefront":{},"signedDate":null,"bundleId":["x"],"expiresDate":true}"#)
        #expect(signed.transactionID == "2000000847061981")
        #expect(signed.purchaseDate == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(signed.priceMilliunits == 99)
        #expect(signed.isUpgraded)
        #expect(signed.storefront == nil && signed.signedDate == nil && signed.bundleID == nil)
    }

    @Test func namesWhatIsMissing() throws {
        #expect(
            throws: UnusableTransaction(
                transactionID: "7", missing: ["productId", "purchaseDate"], unreadable: [])
        ) { try read(#"{"transactionId":"7"}"#).transaction() }
        #expect(throws: UnusableTransaction.self) { try read("{}").transaction() }
    }

    /// A refund that can't be read must not pass for none, nor ten pieces for one.
    @Test(arguments: [
        (#","revocationDate":"soon""#, "revocationDate"), (#","revocationDate":99999999999999999"#, "revocationDate"),
        (#","revocationDate":{}"#, "revocationDate"), (#","expiresDate":"soon""#, "expiresDate"),
        (#","revocationDate":0"#, "revocationDate"),
    ])
    func refusesWhatItCannotRead(further: String, field: String) throws {
        let signed = try read(TestPayload.transaction(further: further))
        #expect(
            throws: UnusableTransaction(transactionID: signed.transactionID, missing: [], unreadable: [field])
        ) { try signed.transaction() }
    }

    /// As Xcode's testing writes them.
    @Test func readsADateWithAFractionOfAMillisecond() throws {
        let json = TestPayload.transaction(further: #","expiresDate":1697679936049.7297"#)
        #expect(try read(json).transaction().expiresDate == Date(timeIntervalSince1970: 1_697_679_936.049))
    }

    @Test func callsAPurchaseDateThatItCannotReadByThatName() throws {
        let signed = try read(#"{"transactionId":"7","productId":"gems","purchaseDate":"soon"}"#)
        #expect(throws: UnusableTransaction(transactionID: "7", missing: [], unreadable: ["purchaseDate"])) {
            try signed.transaction()
        }
    }

    @Test func refusesAQuantityThatItCannotRead() throws {
        let signed = try read(TestPayload.transaction().replacing(#""quantity":1"#, with: #""quantity":"many""#))
        #expect(signed.unreadableFields == ["quantity"])
        #expect(throws: UnusableTransaction.self) { try signed.transaction() }
    }
}
