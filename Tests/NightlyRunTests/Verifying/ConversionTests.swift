import AppStore
import Foundation
import Reconciliation
import Testing

@testable import Verification

/// What Apple sends becomes what the ledger can keep: what no ledger could is left out or refused by itself.
@Suite struct ConversionTests {
    private func reading(_ change: (inout AppStoreTransaction) -> Void) throws -> VerifiedReceipt {
        var row = AppStoreTransaction(
            transactionID: "1000000000000001", productID: "gems.60",
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000))
        change(&row)
        let answer = VerifiedReceiptAnswer(environment: "Production", transactions: [row])
        return try VerifiedReceipt(answer, source: .verifyReceipt, now: Date())
    }

    private func transaction(_ change: (inout AppStoreTransaction) -> Void) throws -> Transaction {
        try #require(try reading(change).transactions.first).transaction
    }

    /// Seen in answers whose `cancellation_date` is empty.
    @Test func aReasonAloneIsNoRefund() throws {
        let paid = try transaction { $0.cancellationReason = "0" }
        #expect(paid.refundedAt == nil && paid.refundReason == nil)
        let refunded = try transaction {
            $0.cancellationDate = Date(timeIntervalSince1970: 1_700_000_100)
            $0.cancellationReason = "0"
        }
        #expect(refunded.refundReason == "0")
    }

    /// Else an order of the same token, in small letters, would not be found by it.
    @Test(arguments: [
        ("7E3FB204-2EF0-4F5C-A3E4-2F1F0A2E8D11", "7e3fb204-2ef0-4f5c-a3e4-2f1f0a2e8d11"), ("User 42", "User 42"),
    ])
    func takesATokenInTheFormThatOrdersHave(sent: String, token: String) throws {
        #expect(try transaction { $0.appAccountToken = sent }.appAccountToken == token)
    }

    @Test func leavesOutWhatIsTooLongToBeLookedUp() throws {
        let long = try transaction {
            $0.appAccountToken = String(repeating: "t", count: 256)
            $0.appTransactionID = String(repeating: "7", count: 65)
        }
        #expect(long.appAccountToken == nil && long.appTransactionID == nil)
        let kept = try transaction {
            $0.appAccountToken = String(repeating: "t", count: 255)
            $0.appTransactionID = String(repeating: "7", count: 64)
        }
        #expect(kept.appAccountToken?.utf8.count == 255 && kept.appTransactionID?.utf8.count == 64)
    }

    @Test(arguments: [
        (0, true), (990, true), (1_000_000_000_000_000, true), (1_000_000_000_000_001, false), (-1, false),
        (Int64.max, false),
    ])
    func takesAPriceThatSomebodyCanHavePaid(milliunits: Int64, isTaken: Bool) throws {
        let price = try transaction {
            $0.priceMilliunits = milliunits
            $0.currency = "USD"
        }.price
        #expect(price?.milliunits == (isTaken ? milliunits : nil))
    }

    /// What no currency says is no amount.
    @Test(arguments: ["usd", "US", nil] as [String?])
    func takesNoPriceWithoutACurrency(currency: String?) throws {
        let price = try transaction {
            $0.priceMilliunits = 990
            $0.currency = currency
        }.price
        #expect(price == nil)
    }

    @Test(
        arguments: [
            ("Consumable", .consumable), ("Non-Consumable", .nonConsumable),
            ("Auto-Renewable Subscription", .autoRenewable), ("Non-Renewing Subscription", .nonRenewing),
            ("consumable", nil), ("A New Type", nil), (nil, nil),
        ] as [(String?, ProductType?)])
    func knowsApplesWordsForAType(word: String?, type: ProductType?) throws {
        #expect(try transaction { $0.productType = word }.productType == type)
    }

    /// Else all that Xcode sold would be one period, restored.
    @Test(
        arguments: [("", nil), ("0", nil), (nil, nil), ("00", "00"), ("2000000098765432", "2000000098765432")]
            as [(String?, String?)])
    func takesNoZeroForAPeriod(sent: String?, period: String?) throws {
        #expect(try transaction { $0.webOrderLineItemID = sent }.webOrderLineItemID == period)
    }

    @Test func refusesAQuantityThatTheLedgerCanNotCount() throws {
        let receipt = try reading { $0.quantity = 2_147_483_648 }
        #expect(receipt.transactions.isEmpty)
        #expect(receipt.unreadable == ["transaction 1000000000000001: its quantity can't be one"])
        #expect(try transaction { $0.quantity = 2_147_483_647 }.quantity == 2_147_483_647)
    }

    /// It would stay within its grace until then, and nobody would see it. A renewal may be paid before it begins.
    @Test(arguments: [(6.0, true), (8.0, false), (36_500.0, false)])
    func refusesAPurchaseOfADayToCome(days: Double, isTaken: Bool) throws {
        let receipt = try reading { $0.purchaseDate = Date() + days * 24 * 3600 }
        #expect(receipt.transactions.count == (isTaken ? 1 : 0))
        #expect(
            receipt.unreadable == (isTaken ? [] : ["transaction 1000000000000001: its purchase date can't be one"]))
    }

    @Test func saysOfWhichTransactionAnIDCanNotBeOne() throws {
        #expect(
            try reading { $0.productID = "a b" }.unreadable
                == ["transaction 1000000000000001: its product id can't be one"])
        #expect(
            try reading { $0.originalTransactionID = "" }.unreadable
                == ["transaction 1000000000000001: its original transaction id can't be one"])
        #expect(
            try reading { $0.transactionID = "1\u{7}" }.unreadable == ["transaction no. 1: its id can't be one"])
    }

    /// The history of the customer may lack it, as Apple knows a purchase late.
    @Test func whatOfAReceiptCouldNotBeReadIsNotForgottenForTheHistory() throws {
        var receipt = try reading { $0.productID = "a b" }
        var history = CustomerHistory()
        history.unreadable = ["page 2"]
        receipt.take(history)
        #expect(
            receipt.unreadable == ["transaction 1000000000000001: its product id can't be one", "page 2"])
    }

    /// What Apple reads from a receipt was so when that was made; of subscriptions it adds what is so now.
    @Test(arguments: [(true, true, true), (true, false, false), (false, true, false), (false, false, false)])
    func knowsWhenWhatAReceiptTellsWasSo(expires: Bool, isToldNow: Bool, isSoNow: Bool) throws {
        let madeAt = Date(timeIntervalSince1970: 1_700_050_000)
        var row = AppStoreTransaction(
            transactionID: "1000000000000001", productID: "pass",
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000))
        row.expiresDate = expires ? madeAt : nil
        row.isToldNow = isToldNow
        var answer = VerifiedReceiptAnswer(environment: "Production", transactions: [row])
        answer.receiptCreationDate = madeAt
        let receipt = try VerifiedReceipt(answer, source: .verifyReceipt, now: madeAt + 86_400)
        #expect(receipt.transactions.map(\.madeAt) == [isSoNow ? nil : madeAt])
    }

    /// It holds no more than its one purchase: neither when it was made, nor what became of that since.
    @Test(arguments: [true, false])
    func aReceiptOfOneTransactionIsAsOldAsThat(expires: Bool) throws {
        let boughtAt = Date(timeIntervalSince1970: 1_700_000_000)
        var row = AppStoreTransaction(
            transactionID: "1000000000000001", productID: "pass", purchaseDate: boughtAt)
        row.expiresDate = expires ? boughtAt + 2_592_000 : nil
        var answer = VerifiedReceiptAnswer(environment: "Production", transactions: [row])
        answer.isFlat = true
        answer.receiptCreationDate = boughtAt + 50_000
        let receipt = try VerifiedReceipt(answer, source: .verifyReceipt, now: boughtAt + 86_400)
        #expect(receipt.madeAt == nil)
        // Of a subscription Apple tells how it stands now.
        #expect(receipt.transactions.map(\.madeAt) == [expires ? nil : boughtAt])
        #expect(receipt.transactions.map(\.isOwnProof) == [true])
        answer.isFlat = false
        let whole = try VerifiedReceipt(answer, source: .verifyReceipt, now: boughtAt + 86_400)
        #expect(whole.madeAt == boughtAt + 50_000 && whole.transactions.map(\.isOwnProof) == [false])
    }

    @Test func aReceiptOfOneTransactionThatCannotBeReadHoldsNone() throws {
        let row = AppStoreTransaction(
            transactionID: "1000000000000001", productID: "a b",
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000))
        var answer = VerifiedReceiptAnswer(environment: "Production", transactions: [row])
        answer.isFlat = true
        let receipt = try VerifiedReceipt(answer, source: .verifyReceipt, now: Date())
        #expect(receipt.transactions.isEmpty && receipt.unreadable.count == 1)
    }

    /// A receipt that holds no refund says nothing of one since the purchase, and takes none back. No signature is of a
    /// time to come.
    @Test func saysHowOldAWordOfApplesIs() throws {
        let boughtAt = Date(timeIntervalSince1970: 1_700_000_000)
        func told(refunded: Bool, madeAfter seconds: TimeInterval, _ source: Source) throws -> VerifiedTransaction? {
            var row = AppStoreTransaction(
                transactionID: "1000000000000001", productID: "gems.60", purchaseDate: boughtAt)
            row.cancellationDate = refunded ? boughtAt + 60 : nil
            var answer = VerifiedReceiptAnswer(environment: "Production", transactions: [row])
            answer.receiptCreationDate = boughtAt + seconds
            return try VerifiedReceipt(answer, source: source, now: boughtAt + 86_400).transactions.first
        }
        #expect(try told(refunded: false, madeAfter: 50_000, .local)?.signedAt == boughtAt)
        #expect(try told(refunded: true, madeAfter: 50_000, .local)?.signedAt == boughtAt + 50_000)
        #expect(try told(refunded: true, madeAfter: 90_000, .local)?.signedAt == boughtAt + 86_400)
        #expect(try told(refunded: true, madeAfter: 50_000, .local)?.madeAt == nil)
        let answered = try #require(try told(refunded: true, madeAfter: 50_000, .verifyReceipt))
        #expect(answered.signedAt == nil && answered.madeAt == boughtAt + 50_000)
    }

    /// The history of the customer has been seen to know a refund minutes late.
    @Test(arguments: [(3599.0, true), (3600, false)])
    func aRefundThatAppleSignedJustNowIsNotForgottenForTheHistory(age: TimeInterval, isKept: Bool) throws {
        let now = Date(timeIntervalSince1970: 1_700_100_000)
        var row = AppStoreTransaction(
            transactionID: "1000000000000001", productID: "gems.60",
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000))
        row.cancellationDate = now - age
        var answer = VerifiedReceiptAnswer(environment: "Production", transactions: [row])
        answer.receiptCreationDate = now - age
        var receipt = try VerifiedReceipt(answer, source: .local, now: now)
        receipt.take(CustomerHistory([try transaction { _ in }]))
        #expect(receipt.transactions.count == 1)
        #expect((receipt.transactions.first?.transaction.refundedAt != nil) == isKept)
        #expect(receipt.transactions.first?.source == (isKept ? .local : .serverAPI))
    }
}
