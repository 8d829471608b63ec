import Foundation
import Testing

@testable import AppStore

@Suite(.enabled(if: RecordedAnswers.areHere, "\(RecordedAnswers.skipped)"))
struct RecordedAnswersTests {
    @Test func readsTheErrors() throws {
        #expect(
            try RecordedAnswers.verdict("recorded-invalid-receipt.json", from: .production)
                == .settled(.malformedOrOutage(status: 21002)))
        for name in ["recorded-receipt-1.json", "recorded-sandbox-receipt-to-production.json"] {
            #expect(try RecordedAnswers.verdict(name, from: .production) == .otherEnvironment)
        }
        #expect(
            try RecordedAnswers.verdict("recorded-production-receipt-to-sandbox.json", from: .sandbox)
                == .otherEnvironment)
    }

    @Test func readsWhatAppleAnsweredForAReceipt() throws {
        let answer = try #require(try RecordedAnswers.answer("recorded-receipt-2.json"))
        #expect(answer.environment == "Sandbox")
        #expect(answer.receiptType == "ProductionSandbox")
        #expect(answer.bundleID == "com.sumiapp.GridDiary")
        #expect(answer.applicationVersion == "1241")
        #expect(answer.receiptCreationDate == Date(timeIntervalSince1970: 1_409_628_546))
        #expect(answer.transactions.map(\.transactionID) == ["1000000118990828", "1000000122102348"])
        #expect(
            answer.transactions.map(\.productID) == ["com.sumiapp.GridDiary.pro", "com.sumiapp.griddiary.test"])
        #expect(answer.transactions.map(\.quantity) == [1, 1])
        #expect(answer.transactions.first?.originalPurchaseDate == Date(timeIntervalSince1970: 1_407_133_491))
        #expect(answer.unusableRows.isEmpty)
    }

    @Test func findsTheConsumableThatStandsInOneListOnly() throws {
        let answer = try #require(try RecordedAnswers.answer("consumable-only-in-in_app.json"))
        let consumable = try #require(answer.transactions.first { $0.transactionID == "1000000741427785" })
        #expect(consumable.productID == "test_consumable")
        #expect(consumable.purchaseDate == Date(timeIntervalSince1970: 1_605_231_701))
        #expect(Set(answer.transactions.map(\.transactionID)).count == answer.transactions.count)
        #expect(answer.pendingRenewals.map(\.autoRenewProductID) == ["test_sub2"])
        #expect(answer.unusableRows.isEmpty)
    }

    @Test func findsTheRefundInBothLists() throws {
        let answer = try #require(try RecordedAnswers.answer("cancellation_response.json"))
        #expect(answer.transactions.map(\.transactionID) == ["1000000218147651", "1000000218147500"])
        let refund = Date(timeIntervalSince1970: 1_466_127_848)
        #expect(answer.transactions.map(\.cancellationDate) == [refund, refund])
        #expect(answer.transactions.map(\.cancellationReason) == ["0", "0"])
        #expect(answer.transactions.map(\.isTrialPeriod) == [false, true])
    }

    @Test func readsAnExpiredSubscriptionOfIOS6() throws {
        let answer = try #require(try RecordedAnswers.answer("flat-21006.json"))
        #expect(answer.isFlat)
        #expect(answer.bundleID == "com.foo.bar")
        #expect(answer.transactions.map(\.transactionID) == ["140000527258824"])
        #expect(answer.transactions.first?.expiresDate == Date(timeIntervalSince1970: 1_550_386_188))
        #expect(answer.transactions.first?.isTrialPeriod == true)
        #expect(answer.pendingRenewals.map(\.autoRenewStatus) == ["0"])
    }

    @Test func readsAConsumableOfIOS6() throws {
        let answer = try #require(try RecordedAnswers.answer("flat-consumable.json"))
        #expect(answer.isFlat)
        #expect(answer.bundleID == "org.youknowone.itunesiap")
        #expect(answer.transactions.map(\.transactionID) == ["1000000012345678"])
        #expect(answer.transactions.map(\.productID) == ["TestProduction1"])
        #expect(answer.unusableRows.isEmpty)
    }
}
