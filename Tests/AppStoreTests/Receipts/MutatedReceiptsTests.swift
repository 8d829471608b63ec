import Foundation
import TestSupport
import Testing

@testable import AppStore

/// Receipts broken at random, the same in every run: nothing may crash or hang, and nothing that was changed may be
/// valid with other contents.
@Suite struct MutatedReceiptsTests {
    private static let inputs = Int(ProcessInfo.processInfo.environment["IAP_MUTATIONS"] ?? "") ?? 20_000

    @Test func neverCrashTheDecoders() async throws {
        var originals = [try await SharedAuthority.receipt()]
        let roots = try await SharedAuthority.roots
        if Fixtures.isPresent {
            originals += try ["bliap-sandbox.b64", "xcode.b64"].map(ReceiptFixtures.appReceipt)
            originals.append(try ReceiptFixtures.transactionReceipt())
        }
        let appReceipts = AppReceiptVerifier(roots: roots)
        let transactionReceipts = TransactionReceiptVerifier(roots: roots)
        let payload = ReceiptPayloadWriter.sample(made: "2026-01-02T03:04:05Z").octets
        var random = SeededNumbers(state: 20_261_121)
        var decoded = 0
        for number in 0..<Self.inputs {
            let original = originals[number % originals.count]
            let mutated = Mutation.mutate(original, using: &random)
            _ = try? ReceiptText(mutated)
            if let checked = try? appReceipts.check(mutated), checked.signature == .valid {
                #expect(try checked == appReceipts.check(original))
            }
            if let checked = try? transactionReceipts.check(mutated), checked.signature == .valid {
                #expect(try checked == transactionReceipts.check(original))
            }
            if (try? AppReceipt(payload: Mutation.mutate(payload, using: &random))) != nil { decoded += 1 }
        }
        // Otherwise the mutations would be too coarse to reach past the first length.
        #expect(decoded > Self.inputs / 50)
    }
}
