import Foundation
import Testing

@testable import AppStore

@Suite struct AnswerBodyTests {
    @Test func readsARowWholly() throws {
        let answer = try answer(
            inApp: """
                [{"quantity": "3", "product_id": "gems_100", "transaction_id": "180000123456789012",
                  "original_transaction_id": "180000123456789000", "purchase_date_ms": "1700000000123",
                  "purchase_date": "2000-01-01 00:00:00 Etc/GMT", "original_purchase_date_ms": "1700000001000",
                  "expires_date_ms": "1702592000000", "cancellation_date_ms": "1700100000000",
                  "cancellation_reason": "1", "in_app_ownership_type": "FAMILY_SHARED", "is_trial_period": "true",
                  "is_in_intro_offer_period": "true", "is_upgraded": "false", "web_order_line_item_id": "4711",
                  "app_account_token": "7E3FB204-2EF0-4F5C-A3E4-2F1F0A2E8D11", "promotional_offer_id": "spring",
                  "offer_code_ref_name": "code", "subscription_group_identifier": "20000", "of_tomorrow": {"a": []}}]
                """)
        var expected = AppStoreTransaction(
            transactionID: "180000123456789012", originalTransactionID: "180000123456789000", productID: "gems_100",
            quantity: 3, purchaseDate: Date(timeIntervalSince1970: 1_700_000_000.123))
        expected.originalPurchaseDate = Date(timeIntervalSince1970: 1_700_000_001)
        expected.expiresDate = Date(timeIntervalSince1970: 1_702_592_000)
        expected.cancellationDate = Date(timeIntervalSince1970: 1_700_100_000)
        expected.cancellationReason = "1"
        expected.ownershipType = "FAMILY_SHARED"
        expected.isTrialPeriod = true
        expected.isInIntroOfferPeriod = true
        expected.webOrderLineItemID = "4711"
        expected.appAccountToken = "7E3FB204-2EF0-4F5C-A3E4-2F1F0A2E8D11"
        expected.promotionalOfferID = "spring"
        expected.offerCodeRefName = "code"
        expected.subscriptionGroupID = "20000"
        #expect(answer.transactions == [expected])
        #expect(answer.unusableRows.isEmpty)
    }

    /// Its date of cancellation says when, and not that anything was given back.
    @Test func anUpgradeIsNoRefund() throws {
        let cancelled = #""cancellation_date_ms": "1700100000000", "cancellation_reason": "0""#
        let upgraded = try answer(inApp: "[\(row("1", cancelled + #", "is_upgraded": "true""#))]").transactions
        #expect(upgraded.map(\.isUpgraded) == [true] && upgraded.map(\.cancellationDate) == [nil])
        let refunded = try answer(inApp: "[\(row("1", cancelled))]").transactions
        #expect(refunded.map(\.cancellationDate) == [Date(timeIntervalSince1970: 1_700_100_000)])
    }

    @Test func readsNumbersForStringsAndStringsForNumbers() throws {
        let strings = try answer(inApp: "[\(row("180000123456789012", #""is_trial_period": "true""#))]")
        let numbers = try answer(
            inApp: """
                [{"quantity": 1, "product_id": "gems_100", "transaction_id": 180000123456789012,
                  "original_transaction_id": 180000123456789012, "purchase_date_ms": 1700000000000,
                  "is_trial_period": true}]
                """)
        #expect(numbers == strings)
    }

    @Test func keepsIdsThatNoIntegerHolds() throws {
        let answer = try answer(
            inApp: #"[{"product_id": 5, "transaction_id": 18446744073709551617, "purchase_date_ms": 1}]"#)
        #expect(answer.transactions.map(\.transactionID) == ["18446744073709551617"])
        #expect(answer.transactions.map(\.productID) == ["5"])
    }

    @Test func fallsBackToTheDateInWords() throws {
        let further = #""product_id": "a", "purchase_date": "2012-04-30 15:05:55 Etc/GMT""#
        for milliseconds in ["", #", "purchase_date_ms": null"#, #", "purchase_date_ms": "soon""#] {
            let answer = try answer(inApp: #"[{"transaction_id": "1", \#(further)\#(milliseconds)}]"#)
            #expect(answer.transactions.map(\.purchaseDate) == [Date(timeIntervalSince1970: 1_335_798_355)])
        }
    }

    @Test(arguments: ["[]", "null", #""""#])
    func takesAnEmptyListForNoPurchase(inApp: String) throws {
        let answer = try answer(inApp: inApp, latest: "null")
        #expect(answer.transactions.isEmpty)
        #expect(answer.unusableRows.isEmpty)
        #expect(!answer.isFlat)
    }

    @Test func takesAMissingListForNoPurchase() throws {
        let answer = try answer(#"{"status": 0, "receipt": {"bundle_id": "com.example.game"}}"#)
        #expect(answer.transactions.isEmpty && answer.unusableRows.isEmpty)
        #expect(!answer.isFlat)
    }

    @Test(arguments: [
        (#"{"product_id": "a", "purchase_date_ms": "1"}"#, "in_app[1]: transaction_id is missing"),
        (#"{"transaction_id": "2", "purchase_date_ms": "1"}"#, "in_app[1]: transaction 2: product_id is missing"),
        (#"{"transaction_id": "2", "product_id": "a"}"#, "in_app[1]: transaction 2: purchase_date is missing"),
        (#"{"transaction_id": "2", "product_id": "a", "purchase_date_ms": "9e99"}"#, "transaction 2: purchase_date"),
        (row("2", #""cancellation_date": "last week""#), "transaction 2: cancellation_date can't be read"),
        (row("2", #""cancellation_date_ms": {}"#), "transaction 2: cancellation_date can't be read"),
        (row("2", #""cancellation_date_ms": "0""#), "transaction 2: cancellation_date can't be read"),
        (#"{"transaction_id":"2","product_id":"a","purchase_date_ms":1,"quantity":"two"}"#, "quantity can't be read"),
        (#"{"transaction_id": "2\u0000", "product_id": "a", "purchase_date_ms": "1"}"#, "transaction_id is missing"),
        ("7", "in_app[1]: transaction_id is missing"), ("null", "in_app[1]: transaction_id is missing"),
        (#"["a"]"#, "in_app[1]: transaction_id is missing"),
    ])
    func namesTheRowAndFieldThatItCannotUse(bad: String, flaw: String) throws {
        let answer = try answer(inApp: "[\(row("1")), \(bad), \(row("3"))]")
        #expect(answer.transactions.map(\.transactionID) == ["1", "3"])
        #expect(answer.unusableRows.count == 1)
        #expect(answer.unusableRows.first?.contains(flaw) == true, "\(answer.unusableRows)")
    }

    @Test func saysSoWhereAListIsNone() throws {
        let answer = try answer(inApp: #""none""#, latest: "5")
        #expect(
            answer.unusableRows == [
                "in_app is neither a list nor an object", "latest_receipt_info is neither a list nor an object",
            ])
    }

    @Test func takesAnEmptyCancellationForNone() throws {
        let answer = try answer(inApp: "[\(row("1", #""cancellation_date": "", "cancellation_date_ms": null"#))]")
        #expect(answer.transactions.map(\.cancellationDate) == [nil])
        #expect(answer.unusableRows.isEmpty)
    }

    @Test func readsTheReceiptItself() throws {
        let answer = try answer(
            """
            \u{FEFF}{"status": 0, "environment": "Sandbox", "receipt": {"bundle_id": "com.example.game",
             "receipt_type": "ProductionVPPSandbox", "application_version": 12, "download_id": null,
             "receipt_creation_date_ms": "1700000000000", "request_date": "2023-11-14 22:13:21 Etc/GMT",
             "in_app": []}, "pending_renewal_info": [{"auto_renew_product_id": "gold", "auto_renew_status": 1,
             "original_transaction_id": "9", "product_id": "silver", "is_in_billing_retry_period": "1",
             "expiration_intent": "2", "grace_period_expires_date_ms": "1700000000000"}]}
            """)
        #expect(answer.environment == "Sandbox")
        #expect(answer.receiptType == "ProductionVPPSandbox")
        #expect(answer.applicationVersion == "12")
        #expect(answer.receiptCreationDate == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(answer.requestDate == Date(timeIntervalSince1970: 1_700_000_001))
        var renewal = PendingRenewal()
        renewal.originalTransactionID = "9"
        renewal.productID = "silver"
        renewal.autoRenewProductID = "gold"
        renewal.autoRenewStatus = "1"
        renewal.expirationIntent = "2"
        renewal.isInBillingRetryPeriod = true
        renewal.gracePeriodExpiresDate = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(answer.pendingRenewals == [renewal])
    }

    @Test func takesTheEndpointForTheEnvironmentWhereTheAnswerHasNone() throws {
        let flat = #"{"status": 0, "receipt": {"bid": "com.example.game"}}"#
        #expect(try answer(flat, from: .production).environment == "Production")
        #expect(try answer(flat, from: .sandbox).environment == "Sandbox")
    }
}
