import Foundation
import Reconciliation
import Testing

@Suite struct SightingTests {
    private func sighted(
        _ id: String = "1", refunded: Bool = false, source: Source = .verifyReceipt, at seconds: TimeInterval = 0
    ) throws -> SightedTransaction {
        var transaction = try Sample.transaction(id)
        transaction.refundedAt = refunded ? Sample.noon : nil
        return SightedTransaction(
            subject: try Sample.subject(transaction), receipt: Sample.receipt(), source: source,
            verifiedAt: Sample.noon + seconds)
    }

    @Test func keepsARefundAgainstABetterAndLaterSource() throws {
        let sightings = [
            try sighted(source: .serverAPI, at: 60), try sighted(refunded: true, source: .local),
            try sighted(source: .serverAPI, at: 120),
        ]
        #expect(sightings.bestSightings() == [1])
    }

    @Test func prefersTheBetterSourceThenTheLaterWord() throws {
        #expect(
            [try sighted(source: .local, at: 60), try sighted(source: .verifyReceipt)].bestSightings() == [1])
        #expect([try sighted(at: 60), try sighted(at: 0)].bestSightings() == [0])
    }

    @Test func keepsOneOfEachTransaction() throws {
        let sightings = try ["1", "2", "1", "3", "2"].map { try sighted($0) }
        #expect(sightings.bestSightings() == [0, 1, 3])
    }

    @Test func ordersSourcesFromThePoorestToTheBest() {
        #expect(Source.allCases.shuffled().sorted() == [.appServer, .local, .verifyReceipt, .serverAPI])
    }
}

@Suite struct InboxReceiptTests {
    private let id = "2000000847061981"

    @Test func wasUploadedForTheTransactionItNames() throws {
        let receipt = Sample.receipt(purposes: [.init(transactionID: id, orderID: "o-1")])
        #expect(receipt.isNamed(try Sample.transactionID()))
        #expect(!receipt.isNamed(try Sample.transactionID("2000000847061982")))
        #expect(!Sample.receipt().isNamed(try Sample.transactionID()))
    }

    @Test func givesItsOrderToTheTransactionThatWasNamedWithIt() throws {
        let receipt = Sample.receipt(
            orderID: "o-2",
            purposes: [.init(transactionID: "7", orderID: "o-7"), .init(transactionID: id, orderID: "o-1")])
        #expect(receipt.orderID(for: try Sample.transactionID()) == "o-1")
        #expect(receipt.orderID(for: try Sample.transactionID("8")) == nil)
    }

    @Test func givesItsOrderToWhateverItHoldsWhenNoTransactionWasNamed() throws {
        let receipt = Sample.receipt(orderID: "o-2", purposes: [.init(transactionID: nil, orderID: "o-2")])
        #expect(receipt.orderID(for: try Sample.transactionID()) == "o-2")
    }
}
