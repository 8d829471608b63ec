import Foundation
import Testing

@testable import AppStoreSimulator

@Suite struct TransactionReceiptTests {
    private let signer = ReceiptSigner(seed: 7)

    private func oldReceipt() -> SimulatedReceipt {
        var old = receipt([consumable("370000000000001")])
        old.style = .transactionReceipt
        old.createdAt = old.transactions[0].purchasedAt
        return old
    }

    private func list(_ payload: String) throws -> OldStylePropertyList {
        let text = String(decoding: try #require(Data(base64Encoded: payload)), as: UTF8.self)
        return try #require(OldStylePropertyList(text: text))
    }

    @Test func holdsEverythingThatTheReceiptSays() throws {
        #expect(try signer.decode(signer.encode(oldReceipt())) == oldReceipt())
        var subscribed = oldReceipt()
        subscribed.environment = .sandbox
        subscribed.transactions[0].productType = .autoRenewable
        subscribed.transactions[0].expiresAt = testNow
        #expect(try signer.decode(signer.encode(subscribed)) == subscribed)
    }

    @Test func hasTheSignatureBlobOfThatTime() throws {
        let list = try list(signer.encode(oldReceipt()))
        let blob = Array(try #require(Data(base64Encoded: list["signature"] ?? "")))
        let length = blob[129..<133].reduce(0) { $0 << 8 | Int($1) }
        #expect(blob[0] == 2)
        #expect(length == blob.count - 133)
        #expect(Array(blob[133...]) == signer.keys.transactionReceipts.leaf.der)
        let info = Array(try #require(Data(base64Encoded: list["purchase-info"] ?? "")))
        let key = signer.keys.transactionReceipts.key
        #expect(key.isGenuine(Array(blob[1..<129]), over: [2] + info, .sha1))
        #expect(!key.isGenuine(Array(blob[1..<129]), over: [3] + info, .sha1))
    }

    @Test func anotherPurchaseUnderTheSameSignatureIsNotAuthentic() throws {
        var list = OldStylePropertyList()
        for entry in try self.list(signer.encode(oldReceipt())).entries {
            guard entry.key == "purchase-info" else {
                list.add(entry.key, entry.value)
                continue
            }
            let info = String(decoding: try #require(Data(base64Encoded: entry.value)), as: UTF8.self)
            let changed = info.replacing("370000000000001", with: "370000000000002")
            list.add(entry.key, Data(changed.utf8).base64EncodedString())
        }
        let payload = Data(list.text.utf8).base64EncodedString()
        #expect(throws: ReceiptSigner.Unreadable.notAuthentic) { try signer.decode(payload) }
    }

    @Test(arguments: ["{", "{}", "{ \"a\" = ", "{ \"a\" = \"b\" }", "{ \"a\" \"b\"; }", "{\"signature\" = \"Ag==\";}"])
    func whatIsNoSuchListIsMalformed(text: String) {
        let payload = Data(text.utf8).base64EncodedString()
        #expect(throws: ReceiptSigner.Unreadable.malformed) { try signer.decode(payload) }
    }

    @Test func keepsQuotesInTexts() throws {
        var list = OldStylePropertyList()
        list.add("a \"b\"", "c\\d; \"e\" = 価")
        let read = try #require(OldStylePropertyList(text: list.text))
        #expect(read["a \"b\""] == "c\\d; \"e\" = 価")
    }
}
