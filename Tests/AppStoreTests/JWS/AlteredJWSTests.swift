import Foundation
import Testing

@testable import AppStore

@Suite struct AlteredJWSTests {
    private let expectation = JWSExpectation(bundleID: TestPayload.bundleID)

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
        var altering = Altering(seed: 20_261_121)
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
        var altering = Altering(seed: 1)
        var read = 0
        for _ in 0..<400 {
            for original in originals {
                let json = Data(altering.alter(original))
                if let payload = try? JSONDecoder().decode(SignedTransaction.self, from: json) {
                    read += 1
                    if let transaction = try? payload.transaction() { #expect(!transaction.transactionID.isEmpty) }
                }
                _ = try? JSONDecoder().decode(SignedRenewalInfo.self, from: json)
                _ = try? JSONDecoder().decode(SignedAppTransaction.self, from: json)
                _ = try? JSONDecoder().decode(NotificationPayload.self, from: json)
            }
        }
        // Otherwise the alterations would be too coarse to reach past the JSON parser.
        #expect(read > 100)
    }
}

/// Changes bytes in ways that reach deep into a parser; the same ways for the same seed.
struct Altering {
    /// A generator that gives the same numbers in every run (SplitMix64).
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static let scraps = [
        "null", "{}", "[]", "-1", "1e400", "9223372036854775808", "\"\"", "\\u0000", "\"", ",", ":", "}", "]", ".",
        "..", "=", "AAAA", "-_", "[[[[[[[[", "0.1",
    ].map { Array($0.utf8) }

    private var random: Seeded

    init(seed: UInt64) {
        random = Seeded(state: seed)
    }

    mutating func alter(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let start = Int.random(in: 0..<max(1, bytes.count), using: &random)
            let end = min(bytes.count, start + Int.random(in: 0...12, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: if start < bytes.count { bytes[start] = UInt8.random(in: .min ... .max, using: &random) }
            case 1: bytes.removeSubrange(start..<end)
            case 2: bytes.insert(contentsOf: bytes[start..<end], at: start)
            case 3: bytes.replaceSubrange(start..<end, with: Self.scraps.randomElement(using: &random) ?? [])
            default: if Int.random(in: 0..<10, using: &random) == 0 { bytes.removeSubrange(start...) }
            }
        }
        return bytes
    }
}
