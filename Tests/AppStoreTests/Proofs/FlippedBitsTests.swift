import Foundation
import TestSupport
import Testing

@testable import AppStore

/// No flipped bit anywhere in a receipt may leave it valid with other contents; and none in what was signed may leave
/// it valid at all. Bits that verification rightly ignores, such as those of an embedded root, are counted.
@Suite struct FlippedBitsTests {
    @Test func ofAnAppReceipt() async throws {
        let receipt = try await SharedAuthority.receipt()
        try examine(receipt, AppReceiptVerifier(roots: try await SharedAuthority.roots), "made here")
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)"))
    func ofAReceiptOfXcodes() throws {
        let roots = try ReceiptFixtures.roots("roots/StoreKitTestCertificate.cer")
        try examine(try ReceiptFixtures.appReceipt("xcode.b64"), AppReceiptVerifier(roots: roots), "Xcode's")
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)"))
    func ofAReceiptOfApples() throws {
        try examine(try ReceiptFixtures.appReceipt("bliap-sandbox.b64"), AppReceiptVerifier(), "Apple's")
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)"))
    func ofATransactionReceiptOfApples() throws {
        let receipt = try ReceiptFixtures.transactionReceipt()
        let verifier = TransactionReceiptVerifier()
        let original = try verifier.check(receipt)
        #expect(original.signature == .valid)
        let info = try TransactionReceiptContainer(receipt).purchaseInfo
        var ignored = Set<Int>()
        Mutation.everyFlippedBit(of: receipt) { flipped, byte in
            guard let checked = try? verifier.check(flipped), checked.signature == .valid else { return }
            ignored.insert(byte)
            #expect(checked.receipt == original.receipt, "byte \(byte)")
            #expect((try? TransactionReceiptContainer(flipped))?.purchaseInfo == info, "byte \(byte)")
        }
        print("A transaction receipt of Apple's: \(receipt.count) bytes, \(ignored.count) rightly ignored.")
        // What isn't signed: pod, signing status, white space, and the base64 of the signer's certificate.
        #expect(ignored.count < receipt.count / 20)
    }

    private func examine(_ receipt: [UInt8], _ verifier: AppReceiptVerifier, _ name: String) throws {
        let original = try verifier.check(receipt)
        #expect(original.signature == .valid)
        let payload = try signedRange(of: receipt)
        var ignored = Set<Int>()
        Mutation.everyFlippedBit(of: receipt) { flipped, byte in
            guard let checked = try? verifier.check(flipped), checked.signature == .valid else { return }
            ignored.insert(byte)
            if checked != original { Issue.record("byte \(byte) changed the contents of a valid receipt") }
        }
        #expect(ignored.isDisjoint(with: payload))
        print("An app receipt, \(name): \(receipt.count) bytes, \(ignored.count) rightly ignored.")
    }

    /// Where in the receipt the octets stand that were signed.
    private func signedRange(of receipt: [UInt8]) throws -> Range<Int> {
        let container = try SignedContainer(receipt)
        guard case .right(let content, _, _) = container.verifiedSignature() else { throw ReceiptError.notPKCS7 }
        let start = try #require(receipt.indices.first { receipt[$0...].starts(with: content) })
        return start..<(start + content.count)
    }
}
