import Foundation
import Reconciliation
import Testing

/// What other sessions' locks kept a run from.
@Suite struct LeftOutTests {
    private static let ids = Set((1...7).map { TransactionID("\($0)")! })

    @Test(arguments: [
        (LeftOut(receipts: 1), "1 receipt"), (LeftOut(receipts: 3), "3 receipts"),
        (LeftOut(receipts: 2, receiptIDs: [23, 17]), "2 receipts (17, 23)"),
        (LeftOut(receipts: 9, receiptIDs: [23, 17]), "9 receipts (17, 23, …)"),
        (LeftOut(transactions: [TransactionID("7")!]), "1 transaction (7)"),
        (LeftOut(transactions: ids), "7 transactions (1, 2, 3, 4, 5, …)"),
        (LeftOut(buckets: [4]), "bucket 4"), (LeftOut(buckets: [9, 4]), "buckets 4, 9"),
        (
            LeftOut(transactions: [TransactionID("7")!], receipts: 2, buckets: [4]),
            "2 receipts and 1 transaction (7) and bucket 4"
        ),
    ])
    func whatWasLeftOutIsCountedAndNamed(leftOut: LeftOut, what: String) {
        #expect(!leftOut.isEmpty)
        #expect(leftOut.text == "other sessions' locks stood in the way of \(what)")
    }

    @Test func whoHeldItIsNamed() {
        let holders = [
            LockHolder(processID: 4711, login: "iap_app", since: Sample.noon),
            LockHolder(processID: 0, login: "sam", since: nil, prepared: "p-1"),
        ]
        #expect(
            LeftOut(receipts: 1, holders: holders).text
                == "other sessions' locks stood in the way of 1 receipt, held by session 4711 of iap_app since "
                + "2026-09-21T14:13:20Z, the prepared transaction “p-1” of sam")
    }

    @Test func ofManyHoldersTheFirstFiveAreNamed() {
        let holders = (1...6).map { LockHolder(processID: $0, login: "sam", since: nil) }
        #expect(holders.named == (1...5).map { "session \($0) of sam" }.joined(separator: ", "))
        #expect([LockHolder]().heldBy == "" && holders.prefix(1).heldBy == ", held by session 1 of sam")
    }

    @Test func whereNothingWasLeftOutNothingIsSaid() {
        #expect(LeftOut().isEmpty && LeftOut().text == nil)
    }
}
