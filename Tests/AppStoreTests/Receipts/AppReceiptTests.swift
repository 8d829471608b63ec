import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct AppReceiptTests {
    @Test func readsEveryAttribute() throws {
        var purchase = ReceiptPayloadWriter()
        purchase.add(1701, 3)
        purchase.add(1702, "coins")
        purchase.add(1703, "100000000000000001")
        purchase.add(1704, date: "2026-01-02T03:04:05Z")
        purchase.add(1705, "100000000000000000")
        purchase.add(1706, date: "2026-01-02T03:04:06Z")
        purchase.add(1707, 3)
        purchase.add(1708, date: "2026-02-02T03:04:05Z")
        purchase.add(1710, 99)
        purchase.add(1711, 2_000_000_123_357_229)
        purchase.add(1712, date: "2026-01-03T00:00:00Z")
        purchase.add(1713, 1)
        purchase.add(1719, 1)
        purchase.add(1721, "winback")
        purchase.add(1799, [7, 7])
        var writer = ReceiptPayloadWriter()
        writer.add(0, "ProductionVPP")
        writer.add(1, 1_234_567_890)
        writer.add(2, "com.example.app")
        writer.add(3, "7")
        writer.add(4, [1, 2])
        writer.add(5, [3, 4])
        writer.add(12, date: "2026-01-04T00:00:00Z")
        writer.add(15, 77)
        writer.add(16, 88)
        writer.add(17, purchase)
        writer.add(18, date: "2025-01-04T00:00:00Z")
        writer.add(19, "1.0")
        writer.add(21, date: "4001-01-01T00:00:00+0000")
        writer.add(9, [5])
        writer.add(9, [])
        let receipt = try AppReceipt(payload: writer.octets)
        #expect(receipt.receiptType == "ProductionVPP" && receipt.environment == "Production")
        #expect(receipt.appID == 1_234_567_890 && receipt.bundleID == "com.example.app")
        #expect(receipt.bundleIDOctets == [0x0C, 15] + Array("com.example.app".utf8))
        #expect(receipt.opaqueValue == [1, 2] && receipt.sha1Hash == [3, 4])
        #expect(receipt.creationDate?.formatted(.iso8601) == "2026-01-04T00:00:00Z")
        #expect(receipt.expirationDate?.formatted(.iso8601) == "4001-01-01T00:00:00Z")
        #expect(receipt.originalPurchaseDate?.formatted(.iso8601) == "2025-01-04T00:00:00Z")
        #expect(receipt.downloadID == 77 && receipt.versionExternalIdentifier == 88)
        #expect(receipt.applicationVersion == "7" && receipt.originalApplicationVersion == "1.0")
        #expect(receipt.unknownAttributes == [9: [[5], []]])
        let entry = try #require(receipt.purchases.first)
        #expect(entry.productType == 3 && entry.itemID == 99 && entry.unknownAttributes == [1799: [[7, 7]]])
        let transaction = try #require(receipt.answer.transactions.first)
        #expect(transaction.transactionID == "100000000000000001")
        #expect(transaction.originalTransactionID == "100000000000000000")
        #expect(transaction.productID == "coins" && transaction.quantity == 3)
        #expect(transaction.purchaseDate.formatted(.iso8601) == "2026-01-02T03:04:05Z")
        #expect(transaction.originalPurchaseDate?.formatted(.iso8601) == "2026-01-02T03:04:06Z")
        #expect(transaction.expiresDate?.formatted(.iso8601) == "2026-02-02T03:04:05Z")
        #expect(transaction.cancellationDate?.formatted(.iso8601) == "2026-01-03T00:00:00Z")
        #expect(transaction.webOrderLineItemID == "2000000123357229")
        #expect(transaction.isTrialPeriod && transaction.isInIntroOfferPeriod)
        #expect(transaction.promotionalOfferID == "winback")
        #expect(transaction.productType == "Auto-Renewable Subscription")
    }

    @Test(arguments: [
        ("2020-07-22T18:33:15+0100", "2020-07-22T17:33:15Z"), ("2020-07-22T00:33:15+01:00", "2020-07-21T23:33:15Z"),
        ("2020-07-22T18:33:15-0730", "2020-07-23T02:03:15Z"), ("4001-01-01T00:00:00+0000", "4001-01-01T00:00:00Z"),
        ("2017-10-13T07:41:28Z", "2017-10-13T07:41:28Z"), ("2017-10-13T07:41:28.123Z", "2017-10-13T07:41:28Z"),
    ])
    func readsDatesWithOffsets(text: String, moment: String) {
        #expect(AppleDate.withOffset(text)?.formatted(.iso8601) == moment)
    }

    @Test(arguments: [
        "", "2020-07-22", "2020-07-22T18:33:15", "2020-07-22T18:33:15+01", "2020-07-22T18:33:15+2500",
        "2020-07-22T18:33:15+0160", "2020-07-22T18:33:15+010", "2020-02-30T18:33:15Z", "2020-07-22T18:33:15 Etc",
        "2020-07-22T18:33:15++100", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00+0100", "9999-12-31T23:30:00-0100",
    ])
    func refusesWhatIsNoDate(text: String) {
        #expect(AppleDate.withOffset(text) == nil)
    }

    @Test func namesEntriesThatAreNoTransaction() throws {
        var purchase = ReceiptPayloadWriter()
        purchase.add(1703, "1")
        var writer = ReceiptPayloadWriter()
        writer.add(17, purchase)
        writer.add(17, ReceiptPayloadWriter())
        let answer = try AppReceipt(payload: writer.octets).answer
        #expect(answer.transactions.isEmpty)
        #expect(answer.unusableRows == ["in_app[0]: product_id is missing", "in_app[1]: transaction_id is missing"])
        #expect(answer.environment.isEmpty)
    }

    @Test(
        "A field that decides and can't be read spoils its entry alone",
        arguments: [
            (1701, [0x0C, 0x01, 0x32], "quantity"), (1701, [0x02, 0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0], "quantity"),
            (1702, [0x0C, 0x01, 0xFF], "product_id"), (1703, [0x02, 0x01, 0x07], "transaction_id"),
            (1704, [0x16, 0x01, 0x41], "purchase_date"), (1705, [0x1E, 0x02, 0x00, 0x37], "original_transaction_id"),
        ] as [(Int, [UInt8], String)])
    func spoilsOneEntry(type: Int, value: [UInt8], name: String) throws {
        var purchase = Self.purchase("1")
        purchase.add(type, value)
        purchase.add(type, value)
        try expectSpoiled(purchase, by: name)
    }

    /// As the date of a refund, it would take the purchase away from who paid for it.
    @Test(
        "A date of zero can't be read",
        arguments: [(1704, "purchase_date"), (1708, "expires_date"), (1712, "cancellation_date")])
    func takesNoZeroForADate(type: Int, name: String) throws {
        var purchase = Self.purchase("1")
        purchase.add(type, date: "1970-01-01T00:00:00Z")
        try expectSpoiled(purchase, by: name)
    }

    /// Expects that the entry can't be read for want of that field, and that another beside it can.
    private func expectSpoiled(_ entry: ReceiptPayloadWriter, by name: String) throws {
        var writer = ReceiptPayloadWriter()
        for entry in [entry, Self.purchase("2")] { writer.add(17, entry) }
        let answer = try AppReceipt(payload: writer.octets).answer
        #expect(answer.transactions.map(\.transactionID) == ["2"])
        #expect(answer.unusableRows == ["in_app[0]: \(name) can't be read"])
    }

    @Test(
        "An entry that is no set of attributes spoils itself alone",
        arguments: [[], [0x30, 0x00], [0x31, 0x01, 0x30]] as [[UInt8]])
    func spoilsABrokenEntry(entry: [UInt8]) throws {
        var writer = ReceiptPayloadWriter()
        writer.add(17, entry)
        writer.add(17, Self.purchase("2"))
        let answer = try AppReceipt(payload: writer.octets).answer
        #expect(answer.transactions.map(\.transactionID) == ["2"])
        #expect(answer.unusableRows == ["in_app[0]: the entry can't be read"])
    }

    @Test("What decides nothing may be unreadable") func readsOnPastWhatDecidesNothing() throws {
        let text: [UInt8] = [0x0C, 0x01, 0x78]
        let number: [UInt8] = [0x02, 0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        var purchase = Self.purchase("1")
        for type in [1706, 1707, 1710, 1711, 1713, 1719] { purchase.add(type, text) }
        purchase.add(1721, number)
        var writer = ReceiptPayloadWriter()
        writer.add(17, purchase)
        for type in [1, 3, 15, 16, 18, 19, 21] { writer.add(type, number) }
        let receipt = try AppReceipt(payload: writer.octets)
        #expect(receipt.appID == nil && receipt.applicationVersion == nil && receipt.expirationDate == nil)
        #expect(receipt.answer.transactions.map(\.transactionID) == ["1"])
        #expect(receipt.answer.unusableRows.isEmpty)
    }

    private static func purchase(_ id: String) -> ReceiptPayloadWriter {
        var purchase = ReceiptPayloadWriter()
        purchase.add(1702, "coins")
        purchase.add(1703, id)
        purchase.add(1704, date: "2026-01-02T03:04:05Z")
        return purchase
    }

    @Test func namesAPurchaseOnceThatIsListedTwice() throws {
        func purchase(_ id: String, cancelled: String = "") -> ReceiptPayloadWriter {
            var purchase = Self.purchase(id)
            purchase.add(1712, date: cancelled)
            return purchase
        }
        let cancelled = purchase("1", cancelled: "2026-01-03T00:00:00Z")
        let entries = [purchase("1"), purchase("2"), cancelled, purchase("2")]
        for entries in [entries, entries.reversed()] {
            var writer = ReceiptPayloadWriter()
            for entry in entries { writer.add(17, entry) }
            let receipt = try AppReceipt(payload: writer.octets)
            #expect(receipt.purchases.count == 4)
            let transactions = receipt.answer.transactions.sorted { $0.transactionID < $1.transactionID }
            #expect(transactions.map(\.transactionID) == ["1", "2"] && transactions.map(\.quantity) == [1, 1])
            #expect(transactions.map { $0.cancellationDate != nil } == [true, false])
        }
    }

    /// What is sandbox's must not pass for paid, whoever bought it.
    @Test(arguments: [
        ("Production", "Production"), ("ProductionVPP", "Production"), ("ProductionSandbox", "Sandbox"),
        ("ProductionVPPSandbox", "Sandbox"), ("Xcode", "Xcode"), ("Moon", "Moon"),
    ])
    func namesTheEnvironmentAsVerifyReceiptDoes(type: String, environment: String) throws {
        var writer = ReceiptPayloadWriter()
        writer.add(0, type)
        let receipt = try AppReceipt(payload: writer.octets)
        #expect(receipt.environment == environment && receipt.answer.environment == environment)
    }

    @Test(
        arguments: [
            (0, "Non-Consumable"), (1, "Consumable"), (2, "Non-Renewing Subscription"),
            (3, "Auto-Renewable Subscription"), (4, "4"), (nil, nil),
        ] as [(Int?, String?)])
    func namesTheKindOfProductAsSignedTransactionsDo(number: Int?, name: String?) throws {
        var purchase = ReceiptPayloadWriter()
        purchase.add(1702, "coins")
        purchase.add(1703, "1")
        purchase.add(1704, date: "2026-01-02T03:04:05Z")
        // What is no subscription has no period.
        purchase.add(1711, 0)
        if let number { purchase.add(1707, number) }
        var writer = ReceiptPayloadWriter()
        writer.add(17, purchase)
        let transaction = try #require(try AppReceipt(payload: writer.octets).answer.transactions.first)
        #expect(transaction.productType == name && transaction.webOrderLineItemID == nil)
        #expect(!transaction.isTrialPeriod && !transaction.isInIntroOfferPeriod)
    }

    /// Some tools do so.
    @Test func readsAPayloadThatIsWrappedInAnOctetString() throws {
        var writer = ReceiptPayloadWriter()
        writer.add(2, "com.example.app")
        let wrapped = ReceiptPayloadWriter.element(0x04, writer.octets)
        #expect(try AppReceipt(payload: wrapped) == AppReceipt(payload: writer.octets))
        #expect(throws: ReceiptError.payloadMalformed(position: wrapped.count)) {
            try AppReceipt(payload: wrapped + [0x05, 0x00])
        }
    }

    /// The byte that is named is that of the element which breaks the format.
    @Test(
        arguments: [
            ([], 0), ([0x30, 0x00], 0), ([0x31, 0x02, 0x30, 0x00], 4), ([0x31, 0x00, 0x00], 2),
            ([0x31, 0x0A, 0x30, 0x08, 0x02, 0x01, 0x0C, 0x02, 0x01, 0x01, 0x05, 0x00], 10),
            ([0x31, 0x0D, 0x30, 0x0B, 0x02, 0x01, 0x0C, 0x02, 0x01, 0x01, 0x04, 0x03, 0x16, 0x01, 0x41], 12),
            ([0x31, 0x0D, 0x30, 0x0B, 0x02, 0x01, 0x02, 0x02, 0x01, 0x01, 0x04, 0x03, 0x0C, 0x01, 0xFF], 12),
            ([0x31, 0x0D, 0x30, 0x0B, 0x02, 0x01, 0x02, 0x02, 0x01, 0x01, 0x04, 0x03, 0x0C, 0x02, 0x41], 15),
        ] as [([UInt8], Int)])
    func saysWhereThePayloadIsMalformed(payload: [UInt8], position: Int) {
        #expect(throws: ReceiptError.payloadMalformed(position: position)) { try AppReceipt(payload: payload) }
    }

    @Test("A receipt of more purchases than fit is none", arguments: [(100_000, true), (100_001, false)])
    func holdsSoManyPurchases(count: Int, isReceipt: Bool) {
        let empty: [UInt8] = ReceiptPayloadWriter.element(
            0x30,
            ReceiptPayloadWriter.integer(17) + ReceiptPayloadWriter.integer(1)
                + ReceiptPayloadWriter.element(0x04, [0x31, 0x00]))
        let payload = ReceiptPayloadWriter.element(0x31, Array(repeatElement(empty, count: count).joined()))
        let receipt = try? AppReceipt(payload: payload)
        #expect(receipt?.purchases.count == (isReceipt ? count : nil))
    }
}
