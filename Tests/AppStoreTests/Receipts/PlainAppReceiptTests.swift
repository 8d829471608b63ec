import Foundation
import Testing

@testable import AppStore

/// The look at an app receipt's bytes that takes the place of reading it.
@Suite struct PlainAppReceiptTests {
    /// Begins like a container.
    private static let beginning: [UInt8] = [
        0x30, 0x82, 0x01, 0x00, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02,
    ]
    /// The number of an entry with a purchase's id.
    private static let idEntry: [UInt8] = [0x02, 0x02, 0x06, 0xA7]

    private func text(_ rest: [UInt8]) -> String { Data(Self.beginning + rest).base64EncodedString() }

    @Test func tellsWhatItHolds() throws {
        let text = text(Array("1000000000000042".utf8))
        let receipt = try #require(PlainAppReceipt(text))
        #expect(receipt.holdsAny(of: ["7", "1000000000000042"]))
        #expect(receipt.holdsAny(of: ["42"]))
        #expect(!receipt.holdsAny(of: ["1000000000000043", "10000000000000420", ""]))
        #expect(!receipt.holdsAny(of: [String]()))
        #expect(!receipt.holdsAny(of: [text]))
    }

    @Test func countsItsPurchases() throws {
        let other: [UInt8] = [0x02, 0x02, 0x06, 0xA9]
        for (rest, purchases) in [
            ([], 0), (other, 0), (Self.idEntry, 1), (Self.idEntry + other + Self.idEntry, 2),
            ([0xA7, 0xA7] + Self.idEntry + [0xA7], 1), (Array(Self.idEntry.dropLast()), 0),
        ] as [([UInt8], Int)] {
            #expect(try #require(PlainAppReceipt(text(rest))).purchases == purchases, "\(rest)")
        }
    }

    @Test func isOnlyACanonicalAppReceipt() {
        for text in ["", "bm90IGEgcmVjZWlwdA==", text([]) + "\n", "e30="] { #expect(PlainAppReceipt(text) == nil) }
    }
}
