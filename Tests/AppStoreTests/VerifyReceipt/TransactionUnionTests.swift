import Foundation
import Testing

@testable import AppStore

@Suite struct TransactionUnionTests {
    @Test func takesWhatStandsInOneListOnly() throws {
        let answer = try answer(inApp: "[\(row("1")), \(row("2"))]", latest: "[\(row("3")), \(row("2"))]")
        #expect(answer.transactions.map(\.transactionID) == ["1", "2", "3"])
    }

    @Test func keepsAPaidRowBesideAnEmptyList() throws {
        let answer = try answer(inApp: "[\(row("1"))]", latest: "[]")
        #expect(answer.transactions.map(\.transactionID) == ["1"])
    }

    @Test func countsATransactionOnceWhoseDatesDiffer() throws {
        let answer = try answer(
            inApp: "[\(row("1"))]",
            latest: #"[{"transaction_id":1,"product_id":"gems_100","purchase_date_ms":"1700000000017","quantity":1}]"#)
        #expect(answer.transactions.count == 1)
        #expect(answer.transactions.first?.purchaseDate == Date(timeIntervalSince1970: 1_700_000_000))
    }

    @Test func letsARefundInEitherListWin() throws {
        let refunded = row("1", #""cancellation_date_ms": "1700100000000", "cancellation_reason": "0""#)
        for (inApp, latest) in [(refunded, row("1")), (row("1"), refunded), (refunded, refunded)] {
            let answer = try answer(inApp: "[\(inApp)]", latest: "[\(latest)]")
            #expect(answer.transactions.map(\.cancellationDate) == [Date(timeIntervalSince1970: 1_700_100_000)])
            #expect(answer.transactions.map(\.cancellationReason) == ["0"])
        }
    }

    /// What the receipt alone tells of a refund was so when that was made, and may have been taken back since.
    @Test func tellsWhatIsSoNowFromWhatWasSoWhenTheReceiptWasMade() throws {
        let (plain, refunded) = (row("1"), row("1", #""cancellation_date_ms": "1700100000000""#))
        for (inApp, latest, isToldNow) in [
            (plain, plain, true), (plain, refunded, true), (refunded, refunded, true), (refunded, plain, false),
            ("", plain, true), (plain, "", false),
        ] {
            let answer = try answer(inApp: "[\(inApp)]", latest: "[\(latest)]")
            #expect(answer.transactions.map(\.isToldNow) == [isToldNow])
        }
    }

    @Test func letsAnUpgradeInEitherListWin() throws {
        let upgraded = row("1", #""is_upgraded": "true""#)
        let not = row("1", #""is_upgraded": "false""#)
        for (inApp, latest) in [(upgraded, not), (not, upgraded)] {
            #expect(try answer(inApp: "[\(inApp)]", latest: "[\(latest)]").transactions.map(\.isUpgraded) == [true])
        }
    }

    @Test func fillsWhatOneListLeavesOut() throws {
        let further = #""app_account_token": "T", "web_order_line_item_id": "W", "in_app_ownership_type": "PURCHASED""#
        let answer = try answer(
            inApp: #"[{"transaction_id": "1", "purchase_date_ms": "soon"}]"#, latest: "[\(row("1", further))]")
        let transaction = try #require(answer.transactions.first)
        #expect(transaction.productID == "gems_100")
        #expect(transaction.purchaseDate == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(transaction.appAccountToken == "T")
        #expect(transaction.webOrderLineItemID == "W")
        #expect(transaction.ownershipType == "PURCHASED")
        #expect(answer.unusableRows.isEmpty)
    }

    /// A row with every field.
    private func described(_ word: String, _ flag: Bool, quantity: Int, at milliseconds: Int64) -> String {
        """
        {"transaction_id": "1", "original_transaction_id": "\(word)", "product_id": "\(word)", "quantity": "\(quantity)",
         "purchase_date_ms": "\(milliseconds)", "original_purchase_date_ms": "\(milliseconds + 1)",
         "expires_date_ms": "\(milliseconds + 2)", "cancellation_date_ms": "\(milliseconds + 3)",
         "cancellation_reason": "\(word)", "in_app_ownership_type": "\(word)", "is_trial_period": "\(flag)",
         "is_in_intro_offer_period": "\(flag)", "is_upgraded": "\(flag)", "web_order_line_item_id": "\(word)",
         "app_account_token": "\(word)", "promotional_offer_id": "\(word)", "offer_code_ref_name": "\(word)",
         "subscription_group_identifier": "\(word)"}
        """
    }

    /// Without its expiry, say, a subscription would pass for something else.
    @Test func fillsEveryFieldThatOneListLeavesOut() throws {
        let (whole, bare) = (described("a", true, quantity: 3, at: 1_700_000_000_000), #"{"transaction_id": "1"}"#)
        var expected = try #require(try answer(inApp: "[\(whole)]").transactions.first)
        for (inApp, latest, isToldNow) in [(whole, bare, false), (bare, whole, true)] {
            let answer = try answer(inApp: "[\(inApp)]", latest: "[\(latest)]")
            expected.isToldNow = isToldNow
            #expect(answer.transactions == [expected] && answer.unusableRows.isEmpty)
        }
    }

    @Test func whatWasReadFirstStays() throws {
        let one = described("a", true, quantity: 3, at: 1_700_000_000_000)
        let other = described("b", false, quantity: 5, at: 1_710_000_000_000)
        for (first, second) in [(one, other), (other, one)] {
            var expected = try #require(try answer(inApp: "[\(first)]").transactions.first)
            (expected.isUpgraded, expected.isToldNow) = (true, true)
            (expected.cancellationDate, expected.cancellationReason) = (nil, nil)
            #expect(try answer(inApp: "[\(first)]", latest: "[\(second)]").transactions == [expected])
        }
    }

    @Test func readsWhatCannotBeReadInOneListFromTheOther() throws {
        let unreadable = row("1", #""cancellation_date_ms": "soon""#)
        let refunded = row("1", #""cancellation_date_ms": "1700100000000""#)
        for (inApp, latest) in [(unreadable, refunded), (refunded, unreadable)] {
            let answer = try answer(inApp: "[\(inApp)]", latest: "[\(latest)]")
            #expect(answer.transactions.map(\.cancellationDate) == [Date(timeIntervalSince1970: 1_700_100_000)])
        }
        let hidden = try answer(inApp: "[\(row("1"))]", latest: "[\(unreadable)]")
        #expect(hidden.transactions.isEmpty)
        #expect(hidden.unusableRows == ["in_app[0]: transaction 1: cancellation_date can't be read"])
    }

    /// Without its expiry a subscription would pass for something else.
    @Test func refusesAnExpiryThatItCannotRead() throws {
        let answer = try answer(
            inApp: "[\(row("1", #""expires_date_ms": "soon""#)), \(row("2", #""expires_date": """#))]")
        #expect(answer.transactions.map(\.transactionID) == ["2"])
        #expect(answer.unusableRows == ["in_app[0]: transaction 1: expires_date can't be read"])
    }

    @Test func takesOneObjectForAListOfOne() throws {
        let flat = """
            {"status": 21006, "receipt": {"bid": "com.example.game", "bvrs": "1.2", "transaction_id": "1",
             "product_id": "gold", "purchase_date_ms": "1700000000000", "expires_date": "1702592000000"},
             "latest_receipt_info": \(row("2")), "latest_expired_receipt_info": \(row("3")),
             "auto_renew_status": 0, "auto_renew_product_id": "gold"}
            """
        let answer = try answer(flat)
        #expect(answer.isFlat)
        #expect(answer.bundleID == "com.example.game")
        #expect(answer.applicationVersion == "1.2")
        #expect(answer.transactions.map(\.transactionID) == ["1", "2", "3"])
        #expect(answer.transactions.first?.expiresDate == Date(timeIntervalSince1970: 1_702_592_000))
        #expect(answer.pendingRenewals.map(\.autoRenewProductID) == ["gold"])
    }

    @Test func keepsTheOrderOfTheAnswer() throws {
        let ids = (1...200).map { String(($0 * 7919) % 1009) }
        let answer = try answer(inApp: "[\(ids.map { row($0) }.joined(separator: ","))]")
        #expect(answer.transactions.map(\.transactionID) == ids)
    }
}
