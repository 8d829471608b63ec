import Foundation
import Reconciliation
import Testing

/// What a receipt that was looked at says beyond its transactions.
@Suite struct ReceiptVerdictTests {
    private func verified(
        _ transactions: [Transaction], environment: Environment = .production, bundleID: BundleID? = nil
    ) -> ReceiptVerdict {
        var receipt = VerifiedReceipt(
            environment: environment, bundleID: bundleID,
            transactions: transactions.map { VerifiedTransaction($0, source: .verifyReceipt) },
            verifiedAt: Sample.noon)
        receipt.madeAt = Sample.noon - 60
        return .verified(receipt)
    }

    private func receipt(for ids: [String?]) -> InboxReceipt {
        Sample.receipt(purposes: ids.map { .init(transactionID: $0, orderID: nil) })
    }

    /// A restored purchase is held by its original's id, too.
    @Test func whatAReceiptWasUploadedForAndDoesNotHoldIsMissing() throws {
        let verdict = verified([try Sample.transaction("2", originalID: "1"), try Sample.transaction("3")])
        #expect(verdict.missing(of: receipt(for: ["1", "2", "3", nil])) == [])
        #expect(verdict.missing(of: receipt(for: ["9", "3", "8", "9"])) == ["8", "9"])
    }

    @Test(arguments: ["", "4 2", "４２"])
    func whatCannotBeAnIDIsNotMissed(id: String) throws {
        #expect(verified([try Sample.transaction("3")]).missing(of: receipt(for: [id])) == [])
    }

    /// An empty receipt is in trouble of its own; of one that was not verified nothing is known.
    @Test func fromWhatHoldsNothingNothingIsMissing() {
        #expect(verified([]).missing(of: receipt(for: ["9"])) == [])
        #expect(ReceiptVerdict.notTried.missing(of: receipt(for: ["9"])) == [])
    }

    @Test(
        arguments: [
            (.production, nil, true), (.production, "com.example.game", true),
            (.production, "com.example.other", false), (.sandbox, "com.example.game", false),
        ] as [(Environment, String?, Bool)])
    func whatIsOfAnotherAppOrEnvironmentTellsOfNoFinishedPurchase(
        environment: Environment, bundleID: String?, doesTell: Bool
    ) throws {
        let verdict = verified([], environment: environment, bundleID: try bundleID.map { try Sample.bundleID($0) })
        #expect(verdict.madeAt(for: try Sample.app()) == (doesTell ? Sample.noon - 60 : nil))
        #expect(ReceiptVerdict.notTried.madeAt(for: try Sample.app()) == nil)
    }
}
