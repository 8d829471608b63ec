import Foundation
import Reconciliation
import TestSupport
import Testing
import Verification

/// App receipts that are signed, and hold what this program can't read.
@Suite struct UnreadableReceiptTests {
    private func judged(_ receipt: some Sequence<UInt8>) async throws -> AppVerifier.Judgement {
        try await VerificationStage.with(.local, hasKey: false) { stage in
            try await stage.judge(Data(receipt).base64EncodedString())
        }
    }

    /// Apple may write receipts in another form one day, which a later program reads.
    @Test func areKept() async throws {
        let receipt = try await ReceiptAuthority.make().appReceipt([0x05, 0x00])
        let kept = try await judged(receipt)
        #expect(kept.signature == .untrusted && kept.problem?.problem == .unknownSigner)
        let changed = try await judged(receipt.dropLast() + [receipt[receipt.count - 1] ^ 1])
        #expect(changed.signature == .invalid && changed.problem?.problem == .notGenuine)
    }
}
