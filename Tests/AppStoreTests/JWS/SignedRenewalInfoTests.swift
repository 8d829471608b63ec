import Foundation
import Testing

@testable import AppStore

/// The payloads that lead to a customer and name no purchase.
@Suite struct SignedRenewalInfoTests {
    private func object(_ json: String) throws -> JSONObject { try #require(JSONObject(Array(json.utf8))) }

    @Test func readsEveryFieldOfARenewalInfo() throws {
        let renewal = SignedRenewalInfo(
            try object(
                """
                {"originalTransactionId":"1000000000000001","productId":"silver","autoRenewProductId":"gold",\
                "autoRenewStatus":0,"expirationIntent":2,"isInBillingRetryPeriod":true,\
                "gracePeriodExpiresDate":1700000001000,"renewalDate":1700000002000,\
                "recentSubscriptionStartDate":1700000003000,"renewalPrice":9990,"currency":"USD",\
                "priceIncreaseStatus":1,"offerType":4,"offerIdentifier":"back","offerDiscountType":"FREE_TRIAL",\
                "appAccountToken":"token","appTransactionId":"704","signedDate":1700000004500,"environment":"Sandbox"}
                """))
        var expected = SignedRenewalInfo(isInBillingRetryPeriod: true)
        expected.originalTransactionID = "1000000000000001"
        (expected.productID, expected.autoRenewProductID) = ("silver", "gold")
        (expected.autoRenewStatus, expected.expirationIntent, expected.priceIncreaseStatus) = (0, 2, 1)
        expected.gracePeriodExpiresDate = Date(timeIntervalSince1970: 1_700_000_001)
        expected.renewalDate = Date(timeIntervalSince1970: 1_700_000_002)
        expected.recentSubscriptionStartDate = Date(timeIntervalSince1970: 1_700_000_003)
        (expected.renewalPriceMilliunits, expected.currency) = (9990, "USD")
        (expected.offerType, expected.offerID, expected.offerDiscountType) = (4, "back", "FREE_TRIAL")
        (expected.appAccountToken, expected.appTransactionID) = ("token", "704")
        expected.signedDate = Date(timeIntervalSince1970: 1_700_000_004.5)
        expected.environment = "Sandbox"
        #expect(renewal == expected)
        #expect(SignedRenewalInfo(try object("{}")) == SignedRenewalInfo(isInBillingRetryPeriod: false))
    }

    @Test func readsEveryFieldOfAnAppTransaction() throws {
        let transaction = SignedAppTransaction(
            try object(
                """
                {"receiptType":"Production","appAppleId":1234,"bundleId":"com.example.game","applicationVersion":"1.2",\
                "versionExternalIdentifier":77,"receiptCreationDate":1700000001000,\
                "originalPurchaseDate":1700000002000,"originalApplicationVersion":"1.0","originalPlatform":"iOS",\
                "preorderDate":1700000003000,"appTransactionId":"704","deviceVerification":"v",\
                "deviceVerificationNonce":"n"}
                """))
        var expected = SignedAppTransaction()
        (expected.receiptType, expected.appAppleID, expected.bundleID) = ("Production", 1234, "com.example.game")
        (expected.applicationVersion, expected.originalApplicationVersion) = ("1.2", "1.0")
        (expected.versionExternalID, expected.originalPlatform, expected.appTransactionID) = ("77", "iOS", "704")
        expected.receiptCreationDate = Date(timeIntervalSince1970: 1_700_000_001)
        expected.originalPurchaseDate = Date(timeIntervalSince1970: 1_700_000_002)
        expected.preorderDate = Date(timeIntervalSince1970: 1_700_000_003)
        (expected.deviceVerification, expected.deviceVerificationNonce) = ("v", "n")
        #expect(transaction == expected)
        // Its certificates are judged when it was made, and its app and environment are compared.
        #expect(transaction.signedDate == transaction.receiptCreationDate && transaction.environment == "Production")
        #expect(transaction.app == AppClaims(bundleID: "com.example.game", appAppleID: .present(1234)))
    }
}
