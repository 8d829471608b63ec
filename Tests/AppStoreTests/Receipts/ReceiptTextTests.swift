import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct ReceiptTextTests {
    /// Begins like a container, and holds every character of base64, both of those that alphabets differ in too.
    private static let container: [UInt8] =
        [0x30, 0x82, 0x01, 0x00, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        + (0..<240).map { UInt8(truncatingIfNeeded: $0 &* 37) } + [0xFB, 0xFF, 0xBF]
    private static let base64 = Data(container).base64EncodedString()

    private func form(_ text: String) throws(ReceiptError) -> ReceiptText {
        try ReceiptText(text.utf8)
    }

    @Test func acceptsWhatClientsDoToBase64() throws {
        let base64 = Self.base64
        let urlSafe = base64.replacing("+", with: "-").replacing("/", with: "_")
        let lines = Data(Self.container).base64EncodedString(options: [.lineLength64Characters])
        let json = String(decoding: try JSONEncoder().encode(base64), as: UTF8.self)
        let unity = #"{"Store":"AppleAppStore","TransactionID":"1","Payload":\#(json)}"#
        let unityText = String(decoding: try JSONEncoder().encode(unity), as: UTF8.self)
        #expect(base64.contains("+") && base64.contains("/") && json.contains("\\/"))
        for text in [
            base64, urlSafe, lines, " \n\(lines)\r\n", "\u{FEFF}\(base64)", "\"\(base64)\"", "'\(base64)'",
            "\(base64)\0", json, unity, unityText, String(unityText.dropFirst().dropLast()),
            String(base64.reversed().drop { $0 == "=" }.reversed()),
        ] {
            #expect(try form(text) == .appReceipt(Self.container), "\(text.prefix(40))")
        }
        #expect(try ReceiptText(Self.container) == .appReceipt(Self.container))
    }

    /// What need not be decoded to be sent to Apple is what decoding and encoding leaves as it is.
    @Test func plainIsWhatWouldBeWrittenTheSameAnew() throws {
        #expect(ReceiptText.isPlainAppReceipt(Self.base64))
        for length in 15..<40 {
            let bytes = Array(Self.container.prefix(length))
            #expect(ReceiptText.isPlainAppReceipt(Data(bytes).base64EncodedString()))
        }
        let padded = Data(Self.container.prefix(16)).base64EncodedString()
        #expect(padded.hasSuffix("=="))
        let bare = String(padded.dropLast(2))
        let others = [
            "", "====", "=", bare, "\(bare)=", "\(bare)===", String(padded.dropLast(4)) + "Af==", padded + padded,
            Self.base64.replacing("+", with: "-"), Self.base64 + "\n", " " + Self.base64, "\"\(Self.base64)\"",
            Data(Self.container.dropFirst()).base64EncodedString(), "ewogICJzaWduYXR1cmUiID0gIkEiOwp9Cg==",
        ]
        for text in others { #expect(!ReceiptText.isPlainAppReceipt(text), "\(text.prefix(40))") }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var characters = Array(padded.utf8)
            let place = Int.random(in: 20..<characters.count, using: &generator)
            characters[place] = UInt8.random(in: 0x20...0x7E, using: &generator)
            let text = String(decoding: characters, as: UTF8.self)
            guard ReceiptText.isPlainAppReceipt(text) else { continue }
            guard case .appReceipt(let bytes) = try form(text) else {
                Issue.record("\(text) is no receipt")
                continue
            }
            #expect(Data(bytes).base64EncodedString() == text)
        }
    }

    /// As StoreKit, Apple's App Store Server API and `verifyReceipt` have them.
    @Test func unwrapsTheObjectsInWhichApplesProofsTravel() throws {
        let jws = "eyJhbGciOiJFUzI1NiJ9.eyJhIjoxfQ.c2ln"
        let encoded = Data(jws.utf8).base64EncodedString()
        for text in [
            #"{"signedTransactionInfo":"\#(jws)"}"#, #"{"jwsRepresentation":"\#(jws)"}"#,
            #"{"receipt-data":"\#(jws)","password":"x"}"#, encoded, #"{"jwsRepresentation":"\#(encoded)"}"#,
        ] {
            #expect(try form(text) == .signed(jws), "\(text.prefix(40))")
        }
        let asked = #"{"receipt-data":"\#(Self.base64)","exclude-old-transactions":false}"#
        #expect(try form(asked) == .appReceipt(Self.container))
    }

    /// To decode it would take many times the memory of the receipt.
    @Test("An object of too many values is not read", arguments: [(1 << 17, true), (1 << 18, false)])
    func readsAnObject(values: Int, isRead: Bool) throws {
        let list = String(repeating: "1,", count: values) + "1"
        let read = try? form(#"{"receipt-data":"\#(Self.base64)","x":[\#(list)]}"#)
        #expect(read == (isRead ? ReceiptText.appReceipt(Self.container) : nil))
    }

    @Test func acceptsALineBreakAnywhereAndNoBlank() throws {
        let characters = Array(Self.base64.utf8)
        for position in 1..<characters.count {
            let (head, tail) = (characters[..<position], characters[position...])
            #expect(try ReceiptText(head + "\n".utf8 + tail) == .appReceipt(Self.container))
            #expect(throws: ReceiptError.notBase64(position: position)) { try ReceiptText(head + " ".utf8 + tail) }
        }
    }

    @Test func acceptsAnyPadding() throws {
        for length in 15..<19 {
            let bytes = Array(Self.container.prefix(length))
            let padded = Data(bytes).base64EncodedString()
            let bare = padded.filter { $0 != "=" }
            for text in [padded, bare, bare + "=", padded + "\n", bare + "\n=="] {
                #expect(try form(text) == .appReceipt(bytes))
            }
        }
    }

    @Test func recognisesEveryForm() throws {
        let list = "{\n\t\"purchase-info\" = \"e30=\";\n}"
        #expect(try form(list) == .transactionReceipt(Array(list.utf8)))
        #expect(try form(Data(list.utf8).base64EncodedString()) == .transactionReceipt(Array(list.utf8)))
        let token = "eyJhbGciOiJFUzI1NiJ9.eyJhIjoxfQ.c2ln_-8"
        #expect(try form(token) == .signed(token))
        #expect(try form(" \"\(token)\"\n") == .signed(token))
        #expect(try form(#"{"signedPayload":"\#(token)"}"#) == .signed(token))
        #expect(try form("eyJhbGciOiJFUzI1NiJ9.eyJh\r\nIjoxfQ.c2ln_-8") == .signed(token))
        #expect(try form("{\"status\":21002}") == .verifyReceiptAnswer(Array("{\"status\":21002}".utf8)))
    }

    @Test(arguments: [
        ("", ReceiptError.empty), (" \n\0", .empty), ("\"\"", .empty), ("{\"Payload\":\"\"}", .empty),
        ("MIIB AAYJ", .notBase64(position: 4)), ("MIIB%2BAAYJ", .notBase64(position: 4)),
        ("MIIBA", .notBase64(position: 5)), ("MIIB===", .notBase64(position: 6)), ("MI=IB", .notBase64(position: 3)),
        ("\"MIIB", .notBase64(position: 0)), ("bnVsbA==", .notPKCS7), ("null", .notPKCS7), ("MIIBAAYJ", .notPKCS7),
        ("{\"a\":1}", .unknownForm), ("{", .unknownForm), ("{\\\"a", .unknownForm),
        ("eyJhIjoxfQ.eyJhIjoxfQ.", .notBase64(position: 10)), ("<html>", .notBase64(position: 0)),
    ])
    func saysWhatElseItIs(text: String, error: ReceiptError) {
        #expect(throws: error) { try form(text) }
    }

    @Test func looksForTheKeysOfAListOnlyWhereTheyBegin() throws {
        func list(after quotes: Int) -> String { "{" + String(repeating: "\"", count: quotes) + "signature\"" }
        #expect(try form(list(after: 1000)) == .transactionReceipt(Array(list(after: 1000).utf8)))
        #expect(throws: ReceiptError.unknownForm) { try form(list(after: 5000)) }
    }

    @Test func doesNotUnwrapForEver() throws {
        var text = Self.base64
        for _ in 0..<20 { text = #"{"Payload":\#(String(decoding: try JSONEncoder().encode(text), as: UTF8.self))}"# }
        #expect(throws: ReceiptError.unknownForm) { try form(text) }
        #expect(throws: ReceiptError.tooLarge(limit: ReceiptText.sizeLimit)) {
            try ReceiptText([UInt8](repeating: 0x41, count: ReceiptText.sizeLimit + 1))
        }
    }
}
