import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct MutatedAnswersTests {
    /// What JSON may be made of, to be put in where it doesn't belong.
    private static let scraps = [
        "null", "{}", "[]", "-1", "1e400", "9223372036854775808", "\"\"", "\\u0000", "\\ud800", "\"", ",", ":",
        "}", "]", "true", "\u{FEFF}", "[[[[[[[[", "0.1",
    ]

    @Test func neverCrashes() throws {
        let made = [
            #"{"status":0,"receipt":{"bundle_id":"a","in_app":[\#(row("1")),\#(row("2"))]},"latest_receipt_info":[]}"#,
            #"{"status":21006,"receipt":\#(row("1", #""bid": "a""#)),"latest_receipt_info":\#(row("2"))}"#,
            #"{"status":21104,"is-retryable":true,"exception":"x"}"#,
        ].map { Data($0.utf8) }
        let recorded = try RecordedAnswers.all().sorted { $0.key < $1.key }.map(\.value).filter { $0.count < 5_000 }
        var altering = Altering(seed: 20_261_121, scraps: Self.scraps)
        var genuine = 0
        for original in made + recorded {
            for _ in 0..<400 {
                if judge(Data(altering.alter(Array(original)))) { genuine += 1 }
            }
        }
        // Otherwise the mutations would be too coarse to reach past the JSON parser.
        #expect(genuine > 100)
    }

    @Test func neverCrashesOnDeepNesting() {
        let deep = String(repeating: "[", count: 1_000_000)
        let deeper = String(repeating: #"{"in_app":"#, count: 500_000)
        for text in [deep, deeper, #"{"status":0,"receipt":\#(deep)"#, #"{"status":0,"receipt":\#(deeper)"#] {
            #expect(!judge(Data(text.utf8)))
        }
    }

    /// Judges the body and uses all that was read; whether it was genuine.
    private func judge(_ body: Data) -> Bool {
        switch VerifyReceiptVerdict(body: body, endpoint: .production, hasSecret: false) {
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
}
