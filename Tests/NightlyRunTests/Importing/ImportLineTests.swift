@testable import Importing
import Foundation
import Ledger
import Reconciliation
import Testing

/// What single lines say, and why they are refused.
@Suite struct ImportLineTests {
    private func read(_ kind: ImportKind, _ text: String, _ format: ImportFormat) async throws -> ReadLines {
        let reader = ImportReader(PiecewiseSource(text.utf8), kind: kind, file: "-", format: format)
        return try await reader.next() ?? ReadLines(batch: ImportBatch(kind: kind, lines: []), refused: [], position: 0)
    }

    /// Ten ids of one customer after the other end in 0 by no chance. A table with a row a period has one of them often.
    @Test func idsThatASpreadsheetCutAreRefused() async throws {
        func lines(_ ids: [String]) async throws -> Int {
            let rows = ids.map { "com.a,\($0),ann,infinity\n" }.joined()
            let head = "bundle_id,original_transaction_id,user_id,entitled_until\n"
            return try await read(.entitlements, head + rows, .csv).batch.lines.count
        }
        let cut = (10..<20).map { "20000008470\($0)000" }
        await #expect(throws: ImportError.self) { try await lines(cut) }
        await #expect(throws: ImportError.self) { try await lines(["1000000847061"] + cut) }
        #expect(try await lines(cut + ["2000000847061981"]) == 11)
        #expect(try await lines(Array(cut.dropLast())) == 9)
        #expect(try await lines([String](repeating: cut[0], count: 10)) == 10)
    }

    private func reason(_ kind: ImportKind, json: String) async throws -> String? {
        try await read(kind, json, .jsonl).refused.first.map { "\($0.reason.rawValue): \($0.text)" }
    }

    @Test func bothFormatsSayTheSame() async throws {
        let csv = try await read(
            .delivered,
            """
            transaction_id,bundle_id,product_id,purchased_at,delivered_at,user_id,order_id
            2000000847061981,com.a,gems,2026-11-21T03:00:00Z,1795230000,7,\\N

            """, .csv)
        let json = try await read(
            .delivered,
            """
            {"transaction_id":"2000000847061981","bundle_id":"com.a","product_id":"gems","user_id":7,"order_id":null,\
            "purchased_at":1795230000,"delivered_at":"2026-11-21T11:00:00+08:00"}
            """, .jsonl)
        #expect(csv.refused == [] && json.refused == [])
        for line in [csv, json].flatMap(\.batch.lines) {
            guard case .delivery(let delivery) = line.row else {
                Issue.record("no delivery")
                continue
            }
            #expect(delivery.key.id.text == "2000000847061981")
            #expect(delivery.key.environment == .production)
            #expect(delivery.originalID == delivery.key.id)
            #expect(delivery.quantity == 1)
            #expect(delivery.userID == "7")
            #expect(delivery.orderID == nil)
            #expect(delivery.purchasedAt == delivery.deliveredAt)
            #expect(delivery.deliveredAt == Date(timeIntervalSince1970: 1_795_230_000))
        }
        #expect([csv, json].map(\.batch.lines.count) == [1, 1])
    }

    @Test(
        arguments: [
            (.orders, #"{"bundle_id":"com.a"}"#, "missing: order_id is missing"),
            (
                .orders, #"{"bundle_id":"com a"}"#,
                "bad_value: bundle_id is no id of Apple's: 1 to 255 visible ASCII characters"
            ),
            (.orders, #"{"colour":"red"}"#, "unknown_field: “colour” is no field of such a line"),
            (.orders, #"{"payload":"x"}"#, "unknown_field: “payload” is no field of such a line"),
            (.orders, #"{"order_id":true}"#, "bad_value: order_id is no text or number"),
            (.orders, #"{"order_id":{"a":1}}"#, "bad_value: order_id is no text or number"),
            (.orders, #"{"order_id":1.5}"#, "bad_value: order_id is no whole number"),
            (
                .orders, #"{"order_id":9007199254740993}"#,
                "bad_value: order_id is a number that many programs round; write it as a string"
            ),
            (.orders, #"{"order_id":"a\u0000"}"#, "not_text: order_id holds a NUL"),
            (.orders, "[1]", "malformed: the line is no JSON object"),
            (
                .orders, #"{"order_id":"a:{\"b\":","user_id":"u","order_id":"c"}"#,
                "malformed: a key is there twice, and which is meant nobody knows"
            ),
            (
                .receipts, #"{"bundle_id":"com.a","device":{"x":1,"y":[{"z":2}]},"payl\u006fad":"p","payload":"q"}"#,
                "malformed: a key is there twice, and which is meant nobody knows"
            ),
            (.orders, "{\"order_id\":\"a\"", "malformed: the line is no JSON object"),
            (
                .orders, #"{"bundle_id":"com.a","order_id":"\#(String(repeating: "x", count: 1001))"}"#,
                "bad_value: order_id has more than 1000 bytes"
            ),
            (
                .orders, #"{"bundle_id":"com.a","order_id":"o","user_id":"u","product_id":"gems","quantity":0}"#,
                "bad_value: quantity is no whole number from 1 on"
            ),
            (
                .orders,
                #"{"bundle_id":"com.a","order_id":"o","user_id":"u","product_id":"gems","app_account_token":"1"}"#,
                "bad_value: app_account_token is no UUID"
            ),
            (
                .products, #"{"bundle_id":"com.a","product_id":"gems","type":"coin","name":"x"}"#,
                "bad_value: type is none of consumable, non_consumable, auto_renewable, non_renewing"
            ),
            (
                .products,
                #"{"bundle_id":"com.a","product_id":"gems","type":"consumable","name":"x","currency":"USD"}"#,
                "missing: currency has no list_price_milliunits"
            ),
            (
                .products,
                #"{"bundle_id":"com.a","product_id":"gems","type":"consumable","name":"x","#
                    + #""list_price_milliunits":1000000000000001,"currency":"USD"}"#,
                "bad_value: list_price_milliunits is no whole number from 0 to 1000000000000000"
            ),
            (
                .products,
                #"{"bundle_id":"com.a","product_id":"gems","type":"consumable","name":"x","list_price_milliunits":990}"#,
                "missing: list_price_milliunits has no currency"
            ),
            (
                .products,
                #"{"bundle_id":"com.a","product_id":"gems","type":"consumable","name":"x","#
                    + #""list_price_milliunits":990,"currency":"usd"}"#,
                "bad_value: currency is no code of three capital letters"
            ),
            (.receipts, #"{"bundle_id":"com.a","device":{"a":"\u0000"}}"#, "not_text: device holds a NUL"),
            (.receipts, #"{"bundle_id":"com.a","device":{"a\u0000":1}}"#, "not_text: device holds a NUL"),
            (
                .receipts, #"{"bundle_id":"com.a","device":"{"}"#,
                "bad_value: device is no JSON that PostgreSQL can store"
            ),
        ] as [(ImportKind, String, String)])
    func aRefusalSaysWhatIsWrong(kind: ImportKind, line: String, reason: String) async throws {
        #expect(try await self.reason(kind, json: line) == reason)
    }

    /// What stands in a string is no member of the line, and JSON within JSON is full of quotes.
    @Test func anEscapedQuoteEndsNoString() async throws {
        let line = #"""
            {"bundle_id":"com.a","payload":"p\\","user_id":"a\":\"b","device":"{\"x\":1}","submitted_at":1795230000.5}
            """#
        let read = try await read(.receipts, line, .jsonl)
        guard case .receipt(let receipt)? = read.batch.lines.first?.row else {
            Issue.record("no receipt: \(read.refused)")
            return
        }
        #expect(receipt.payload == #"p\"# && receipt.userID == #"a":"b"#)
        #expect(receipt.device == #"{"x":1}"#)
        #expect(receipt.submittedAt == Date(timeIntervalSince1970: 1_795_230_000.5))
    }

    @Test(arguments: [
        "1.00701E+15", "1,00701E+15", "1e15", "1000000000000006.0", "-1000000000000006", "+1", "100.000.000.000.605",
        "100,000,000,000,605", "2'000'000'847'061'981", "1.007.01E+3",
    ])
    func anIDThatASpreadsheetRewroteIsRefused(id: String) async throws {
        let reason =
            "bad_value: %@ is a number that a spreadsheet rounded or wrote in its own way; format the column as text"
        let delivered = #""bundle_id":"com.a","product_id":"g","purchased_at":1,"delivered_at":1"#
        for (kind, column, line) in [
            (.delivered, "transaction_id", #"{\#(delivered),"transaction_id":"\#(id)"}"#),
            (
                .delivered, "original_transaction_id",
                #"{\#(delivered),"transaction_id":"1","original_transaction_id":"\#(id)"}"#
            ),
            (
                .entitlements, "original_transaction_id",
                #"{"bundle_id":"com.a","user_id":"u","entitled_until":1,"original_transaction_id":"\#(id)"}"#
            ),
            (.receipts, "transaction_id", #"{"bundle_id":"com.a","payload":"p","transaction_id":"\#(id)"}"#),
        ] as [(ImportKind, String, String)] {
            #expect(try await self.reason(kind, json: line) == reason.replacing("%@", with: column))
        }
    }

    /// Goods would be booked for a user whom nobody has, and orders of several users would become one.
    @Test(arguments: [
        ("1.00201E+11", true), ("1,00201E+11", true), ("1E+15", true), ("1.00201e+011", true), ("2.5", false),
        ("1E15", false), ("a1.0E+11", false), ("u+1", false), ("8+22", false),
    ])
    func anOwnIDThatASpreadsheetRoundedIsRefused(id: String, isRefused: Bool) async throws {
        for (column, other) in [("user_id", "order_id"), ("order_id", "user_id")] {
            let line = """
                {"bundle_id":"com.a","product_id":"g","\(other)":"x","\(column)":"\(id)"}
                """
            let refused = try await read(.orders, line, .jsonl).refused.map(\.text)
            #expect(refused.count == (isRefused ? 1 : 0))
            #expect(refused.allSatisfy { $0.hasPrefix("\(column) is a number that a spreadsheet rounded") })
        }
    }

    @Test(arguments: [("2000000847061981", false), ("2e15", true), ("2.0", true)])
    func anIDIsANumberOnlyByItsDigits(number: String, isRefused: Bool) async throws {
        let line = """
            {"bundle_id":"com.a","product_id":"g","purchased_at":1795230000,"delivered_at":1795230000,\
            "transaction_id":\(number)}
            """
        let read = try await read(.delivered, line, .jsonl)
        #expect(read.refused.map(\.reason) == (isRefused ? [.badValue] : []))
    }

    @Test(arguments: ["'%@", "\"=\"\"%@\"\"\""])
    func whatKeepsAnIDATextInASpreadsheetIsNoPartOfIt(form: String) async throws {
        let ids = ["1007014815038896", "1007014815038895", "com.a", "-2+3"].map { form.replacing("%@", with: $0) }
        let csv = """
            transaction_id,original_transaction_id,bundle_id,product_id,purchased_at,delivered_at
            \(ids[0]),\(ids[1]),\(ids[2]),\(ids[3]),1795230000,1795230000
            """
        let read = try await read(.delivered, csv, .csv)
        guard case .delivery(let delivery)? = read.batch.lines.first?.row else {
            Issue.record("no delivery")
            return
        }
        #expect([delivery.key.id.text, delivery.originalID.text] == ["1007014815038896", "1007014815038895"])
        #expect([delivery.key.bundleID.text, delivery.productID.text] == ["com.a", "-2+3"])
    }

    /// As of an empty cell: else all that have none would be of one original purchase.
    @Test(arguments: ["'", "\"=\"\"\"\"\""])
    func whatGuardsNothingIsNoID(empty: String) async throws {
        let csv = """
            transaction_id,original_transaction_id,bundle_id,product_id,purchased_at,delivered_at
            1007014815038896,\(empty),com.a,gems,1795230000,1795230000
            \(empty),1007014815038895,com.a,gems,1795230000,1795230000
            """
        let read = try await read(.delivered, csv, .csv)
        guard case .delivery(let delivery)? = read.batch.lines.first?.row else {
            Issue.record("no delivery")
            return
        }
        #expect(delivery.originalID == delivery.key.id)
        #expect(read.refused.map(\.text) == ["transaction_id is missing"])
    }

    /// As an empty cell does: of a column that is NOT NULL, or that a program wrote without its own word for NULL.
    @Test(arguments: ["0", "NULL", "null", "None", "NaN", "nil"])
    func whatStandsForNoIDIsNone(word: String) async throws {
        let why = "is missing: “\(word)” is no id of Apple's"
        let csv = """
            transaction_id,original_transaction_id,bundle_id,product_id,purchased_at,delivered_at
            1007014815038896,\(word),com.a,gems,1795230000,1795230000
            \(word),1007014815038895,com.a,gems,1795230000,1795230000
            """
        let read = try await read(.delivered, csv, .csv)
        guard case .delivery(let delivery)? = read.batch.lines.first?.row else {
            Issue.record("no delivery: \(read.refused)")
            return
        }
        #expect(delivery.originalID == delivery.key.id)
        #expect(read.refused.map(\.text) == ["transaction_id \(why)"])
        #expect(read.refused.map(\.id) == [nil])

        let entitlement =
            #"{"bundle_id":"com.a","user_id":"u","entitled_until":1795230000,"original_transaction_id":"\#(word)"}"#
        #expect(try await reason(.entitlements, json: entitlement) == "missing: original_transaction_id \(why)")

        let receipts = try await self.read(
            .receipts, #"{"bundle_id":"com.a","payload":"p","transaction_id":"\#(word)"}"#, .jsonl)
        guard case .receipt(let receipt)? = receipts.batch.lines.first?.row else {
            Issue.record("no receipt: \(receipts.refused)")
            return
        }
        #expect(receipt.transactionID == nil)
    }

    @Test func theNumberZeroIsNoID() async throws {
        let line =
            #"{"bundle_id":"com.a","user_id":"u","entitled_until":1795230000,"original_transaction_id":0}"#
        #expect(
            try await reason(.entitlements, json: line)
                == "missing: original_transaction_id is missing: “0” is no id of Apple's")
    }

    /// As PostgreSQL writes a bytea: a receipt, or a text that was kept as bytes.
    @Test(arguments: [
        (#"\x3082ff00"#, "MIL/AA=="), (#"\x3082FF00"#, "MIL/AA=="), (#"\x6500"#, "ZQA="), (#"\x65794a2e"#, "eyJ."),
        (#"\x"#, ""), (#"\x308"#, #"\x308"#), (#"\x30g2"#, #"\x30g2"#), (#"\X3082"#, #"\X3082"#), ("3082", "3082"),
    ])
    func bytesOfAReceiptAreItsBase64(written: String, payload: String) async throws {
        let read = try await read(.receipts, "bundle_id,payload\ncom.a,\(written)\n", .csv)
        guard case .receipt(let receipt)? = read.batch.lines.first?.row else {
            Issue.record("no receipt: \(read.refused)")
            return
        }
        #expect(receipt.payload == payload)
    }

    /// `products --suggest` guards a name from spreadsheets, as any text that is no id.
    @Test(arguments: [
        ("'+100 Gems", "+100 Gems"), ("'@home", "@home"), ("'-50 %", "-50 %"), ("'90s Pack", "'90s Pack"),
        ("+1", "+1"), ("'", "'"),
    ])
    func whatKeepsANameFromBeingAFormulaIsNoPartOfIt(written: String, name: String) async throws {
        let csv = "bundle_id,product_id,type,name\ncom.a,gems,consumable,\(written)\n"
        let lines = try await read(.products, csv, .csv).batch.lines
        guard case .product(let product)? = lines.first?.row else {
            Issue.record("no product")
            return
        }
        #expect(product.product.name == name)
    }

    @Test func aRefusalNamesTheLineAndHoldsNothingElseOfIt() async throws {
        let found = try await read(
            .receipts,
            """
            bundle_id,payload,user_id,transaction_id
            com.a,SECRET,u,1
            com a,SECRET,u,2
            com.a,SECRET,u
            com.a,"SECRET,u,4

            """, .csv)
        #expect(found.batch.lines.map(\.number) == [2])
        #expect(found.refused.map(\.line) == [3, 4, 5])
        #expect(found.refused.map(\.id) == ["2", nil, nil])
        #expect(found.refused.map(\.reason) == [.badValue, .malformed, .malformed])
        #expect(!"\(found.refused)".contains("SECRET"))
    }

    /// But for the numbers of a delivery that can't be read: one of them may be its id.
    @Test func aDeliveryThatCantBeReadKeepsItsNumbers() async throws {
        let lines = """
            com.a,1007014815038896,gems,"1007014815038897",'12','2026-11-01',7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b,u1234,SECRET
            com.a, 1007014815038896 ,gems,1795230000,yesterday
            com.a,1007014815038898,"gems,1795230001,1795230001
            """
        let csv = "bundle_id,transaction_id,product_id,purchased_at,delivered_at\n" + lines + "\n"
        let found = try await read(.delivered, csv, .csv)
        #expect(found.refused.map(\.id) == [nil, "1007014815038896", nil])
        #expect(
            found.refused.map(\.numbers)
                == [["1007014815038896", "1007014815038897"], [], ["1007014815038898", "1795230001"]])
        for rest in ["", #","user_id":"u"#] {
            let cut = try await read(.delivered, #"{"transaction_id":1007014815038896"# + rest, .jsonl)
            #expect(cut.refused.map(\.numbers) == [["1007014815038896"]])
        }
        let order = try await read(.orders, #"{"order_id":"1007014815038896","user_"#, .jsonl)
        #expect(order.refused.map(\.numbers) == [[]])
    }

    @Test func textThatIsNotUTF8IsRefused() async throws {
        for (format, head) in [(ImportFormat.csv, "bundle_id,order_id,user_id,product_id\ncom.a,"), (.jsonl, "{\"")] {
            let bytes = Array(head.utf8) + [0xFF] + Array(",u,gems".utf8)
            let reader = ImportReader(PiecewiseSource(bytes), kind: .orders, file: "-", format: format)
            let refused = try await reader.next()?.refused ?? []
            #expect(refused.map(\.reason) == [.notText])
        }
    }

    @Test(
        arguments: [
            ("", "is empty"), ("\"a", "the header of -"), ("a\"b\n", "the header of -"),
            ("order_idd,b\n", "have no column “order_idd”"), ("order_id,order_id\n", "“order_id” is there twice"),
            ("order_id,user_id\n", "need the columns"),
        ])
    func aHeaderIsChecked(text: String, words: String) async throws {
        let reader = ImportReader(PiecewiseSource(text.utf8), kind: .orders, file: "-", format: .csv)
        let thrown = await #expect(throws: ImportError.self) { _ = try await reader.next() }
        let said = try #require(thrown).description
        #expect(said.contains(words), "\(said)")
    }

    @Test func aFileOfAnotherFormIsToldHowToBeSaved() async throws {
        func utf16(_ text: String, isBigEndian: Bool = false) -> [UInt8] {
            text.utf16.flatMap { unit -> [UInt8] in
                let bytes = [UInt8(truncatingIfNeeded: unit), UInt8(truncatingIfNeeded: unit >> 8)]
                return isBigEndian ? bytes.reversed() : bytes
            }
        }
        let text = "bundle_id,order_id,user_id,product_id\ncom.a,o,u,gems\n"
        for (bytes, words) in [
            (utf16("\u{FEFF}" + text), "o.csv can't be read: it is UTF-16; save it as CSV UTF-8"),
            (
                utf16("\u{FEFF}" + text, isBigEndian: true),
                "o.csv can't be read: it is UTF-16; save it as CSV UTF-8"
            ),
            (utf16(text), "the header of o.csv is not UTF-8; save the file as CSV UTF-8"),
            (
                Array(text.replacing("\n", with: "\r").utf8),
                "the header of o.csv ends with CR alone; save the file as CSV UTF-8"
            ),
        ] as [([UInt8], String)] {
            let reader = ImportReader(PiecewiseSource(bytes), kind: .orders, file: "o.csv", format: nil)
            let thrown = await #expect(throws: ImportError.self) { _ = try await reader.next() }
            #expect(thrown?.description == words)
        }
    }

    @Test func aGzippedFileIsToldHowToBeUnpacked() async throws {
        let reader = ImportReader(
            PiecewiseSource([0x1F, 0x8B, 8, 0, 0]), kind: .orders, file: "o.csv.gz", format: nil)
        let thrown = await #expect(throws: ImportError.self) { _ = try await reader.next() }
        #expect(thrown?.description.hasSuffix("try zcat o.csv.gz | iap-reconcile import orders -") == true)
    }
}
