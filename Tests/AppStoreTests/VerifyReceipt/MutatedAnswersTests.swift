import Foundation
import Testing

@testable import AppStore

@Suite struct MutatedAnswersTests {
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

    /// What JSON may be made of, to be put in where it doesn't belong.
    private static let scraps = [
        "null", "{}", "[]", "-1", "1e400", "9223372036854775808", "\"\"", "\\u0000", "\\ud800", "\"", ",", ":",
        "}", "]", "true", "\u{FEFF}", "[[[[[[[[", "0.1",
    ].map { Array($0.utf8) }

    @Test func neverCrashes() throws {
        let made = [
            #"{"status":0,"receipt":{"bundle_id":"a","in_app":[\#(row("1")),\#(row("2"))]},"latest_receipt_info":[]}"#,
            #"{"status":21006,"receipt":\#(row("1", #""bid": "a""#)),"latest_receipt_info":\#(row("2"))}"#,
            #"{"status":21104,"is-retryable":true,"exception":"x"}"#,
        ].map { Data($0.utf8) }
        let recorded = try RecordedAnswers.all().sorted { $0.key < $1.key }.map(\.value).filter { $0.count < 5_000 }
        var random = Seeded(state: 20_261_121)
        var genuine = 0
        for original in made + recorded {
            for _ in 0..<400 {
                let mutated = mutate(original, using: &random)
                if judge(mutated) { genuine += 1 }
            }
        }
        // Otherwise the mutations would be too coarse to reach past the JSON parser.
        #expect(genuine > 100)
    }

    @Test func neverCrashesOnDeepNesting() {
        let deep = String(repeating: "[", count: 100_000)
        _ = judge(Data(deep.utf8))
        _ = judge(Data(#"{"status":0,"receipt":\#(String(repeating: #"{"in_app":"#, count: 50_000))"#.utf8))
    }

    /// Judges the body and uses all that was read; whether it was genuine.
    private func judge(_ body: Data) -> Bool {
        switch Verdict(body: body, endpoint: .production, hasSecret: false) {
        case .settled(.genuine(let answer)):
            for transaction in answer.transactions {
                #expect(!transaction.transactionID.isEmpty && !transaction.productID.isEmpty)
                #expect((0...253_402_300_800).contains(transaction.purchaseDate.timeIntervalSince1970))
            }
            return true
        case .failed(let why, _):
            #expect(!why.text.isEmpty)
            return false
        case .settled, .otherEnvironment:
            return false
        }
    }

    private func mutate(_ original: Data, using random: inout Seeded) -> Data {
        var bytes = Array(original)
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
        return Data(bytes)
    }
}
