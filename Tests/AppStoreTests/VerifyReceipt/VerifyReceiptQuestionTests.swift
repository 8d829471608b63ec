import Foundation
import Testing

@testable import AppStore

@Suite struct VerifyReceiptQuestionTests {
    private func body(_ receipt: String, _ secret: String?) -> Data {
        VerifyReceiptQuestion(receiptData: receipt, sharedSecret: secret, number: 1).body
    }

    private func fields(_ body: Data) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any])
    }

    @Test func sendsBase64AsItIs() {
        #expect(
            String(decoding: body("AAA/+w==", nil), as: UTF8.self)
                == #"{"receipt-data":"AAA/+w==","exclude-old-transactions":false}"#)
        #expect(
            String(decoding: body("AAA/+w==", "s3cret"), as: UTF8.self)
                == #"{"receipt-data":"AAA/+w==","password":"s3cret","exclude-old-transactions":false}"#)
    }

    @Test(arguments: [
        "", "\"", "\\", "\\\"", #"","status":0,"x":""#, "a\nb\r\n\tc", "\0", "\u{7F}\u{80}", "é e\u{301} 漏单 😀",
        "\u{2028}\u{2029}\u{FEFF}\u{FFFD}", #"\u0041\ud800"#, "</script>", "{ \"signature\" = \"x/y\"; }",
        String((0..<0x120).compactMap(Unicode.Scalar.init).map(Character.init)),
        String(repeating: "MIIT/+\n\"", count: 100_000),
    ])
    func escapesWhatIsNoBase64(text: String) throws {
        let asked = try fields(body(text, text))
        #expect((asked["receipt-data"] as? String).map { Array($0.utf8) } == Array(text.utf8))
        #expect((asked["password"] as? String).map { Array($0.utf8) } == Array(text.utf8))
        #expect(asked["exclude-old-transactions"] as? Bool == false)
        #expect(asked.count == 3)
    }
}
