import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct AlteredJWSTests {
    private let expectation = JWSExpectation(bundleID: TestPayload.bundleID)
    private static let scraps = [
        "null", "{}", "[]", "-1", "1e400", "9223372036854775808", "\"\"", "\\u0000", "\"", ",", ":", "}", "]", ".",
        "..", "=", "AAAA", "-_", "[[[[[[[[", "0.1",
    ]

    /// A flipped bit may spell a character that isn't there, another certificate, another date or another app. Each bit
    /// of the payload, the signature and the full stops is tried, and one of each character of the header, of which
    /// there are many; every bit of all of it was tried by hand.
    @Test func neverAcceptsAFlippedBit() async throws {
        let chain = try await TestChain.shared.value
        let header = chain.header(certificates: Array(chain.certificates.prefix(2)) + [""])
        let original = Array(try chain.sign(TestPayload.transaction(), header: header).utf8)
        let verifier = JWSVerifier(roots: try chain.roots)
        let _: SignedTransaction = try verifier.verify(original, expecting: expectation)
        let stop = try #require(original.firstIndex(of: UInt8(ascii: ".")))
        for index in original.indices {
            for bit in index < stop ? index % 8..<index % 8 + 1 : 0..<8 {
                var altered = original
                altered[index] ^= 1 << UInt8(bit)
                let payload: SignedTransaction? = try? verifier.verify(altered, expecting: expectation)
                #expect(payload == nil, "bit \(bit) of byte \(index)")
            }
        }
    }

    @Test func neverCrashesOnAlteredText() async throws {
        let chain = try await TestChain.shared.value
        let verifier = JWSVerifier(roots: try chain.roots)
        let original = Array(try chain.sign(TestPayload.transaction()).utf8)
        var altering = Altering(seed: 20_261_121, scraps: Self.scraps)
        for _ in 0..<500 {
            let altered = altering.alter(original)
            let payload: SignedTransaction? = try? verifier.verify(altered, expecting: expectation)
            #expect(payload == nil || altered == original)
        }
    }

    /// What a genuine signer would have to sign is read as well as what nobody would.
    @Test func neverCrashesOnAlteredPayloads() async throws {
        let originals = [
            TestPayload.transaction(further: SignedTransactionTests.everyField), TestPayload.renewalInfo(),
            TestPayload.notification(further: #","appAppleId":1,"status":2"#),
        ].map { Array($0.utf8) }
        var altering = Altering(seed: 1, scraps: Self.scraps)
        var read = 0
        for _ in 0..<400 {
            for original in originals {
                guard let object = JSONObject(altering.alter(original)) else { continue }
                read += 1
                if let transaction = try? SignedTransaction(object).transaction() {
                    #expect(!transaction.transactionID.isEmpty)
                }
                _ = SignedRenewalInfo(object)
                _ = SignedAppTransaction(object)
                _ = NotificationPayload(object)
            }
        }
        // Otherwise the alterations would be too coarse to reach past the JSON parser.
        #expect(read > 100)
    }
}
