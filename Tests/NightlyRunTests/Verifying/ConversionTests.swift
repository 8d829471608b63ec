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
        return try VerifiedReceipt.reading(answer, source: .verifyReceipt, now: Date()).get()
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
}
