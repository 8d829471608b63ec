import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct TransactionReceiptTests {
    private static let authority = Task {
        try await ReceiptAuthority.make(
            leafMarker: ReceiptAuthority.purchaseReceipt, intermediateMarker: ReceiptAuthority.iTunesStore, bits: 1024)
    }

    private static func fields(_ further: String = "") -> String {
        let milliseconds = Int64(SharedAuthority.moment.timeIntervalSince1970) * 1000
        return """
            {
            \t"transaction-id" = "1000000000000001";
            \t"original-transaction-id" = "1000000000000000";
            \t"product-id" = "coins100";
            \t"quantity" = "2";
            \t"bid" = "com.example.app";
            \t"bvrs" = "7";
            \t"purchase-date-ms" = "\(milliseconds)";
            \(further)}
            """
    }

    /// A receipt of version 2, and roots that trust it. What stands between its signer and a root is not in it, so
    /// it is that which is trusted.
    private func receipt(
        _ fields: String = fields(), wrapper: String = "\"environment\" = \"Sandbox\";", version: UInt8 = 2
    ) async throws -> (bytes: [UInt8], roots: TrustRoots) {
        let authority = version == 2 ? try await Self.authority.value : try await SharedAuthority.authority
        let info = Array(fields.utf8)
        let signature = try await authority.purchaseSignature(version: version, info)
        let text = """
            {
            \t"signature" = "\(Data(signature).base64EncodedString())";
            \t"purchase-info" = "\(Data(info).base64EncodedString())";
            \t\(wrapper)
            }
            """
        return (Array(text.utf8), try TrustRoots.none.adding(contentsOf: authority.intermediate))
    }

    @Test(arguments: [2, 3]) func acceptsBothVersions(version: UInt8) async throws {
        let (bytes, roots) = try await receipt(version: version)
        let checked = try TransactionReceiptVerifier(roots: roots).check(bytes)
        #expect(checked.signature == .valid)
        let answer = checked.receipt.answer
        #expect(answer.isFlat && answer.environment == "Sandbox" && answer.bundleID == "com.example.app")
        #expect(answer.transactions.map(\.transactionID) == ["1000000000000001"])
        #expect(answer.transactions.map(\.originalTransactionID) == ["1000000000000000"])
        #expect(answer.transactions.map(\.quantity) == [2])
        guard case .untrusted = try TransactionReceiptVerifier().check(bytes).signature else {
            Issue.record("trusted by Apple's roots")
            return
        }
    }

    /// The environment stands beside what is signed: leaving out the claim must not make a receipt one of production.
    @Test func believesNoEnvironmentThatIsNotSigned() async throws {
        let inStore = Self.fields("\"app-item-id\" = \"521129812\";")
        for (fields, wrapper, environment) in [
            (Self.fields(), "", nil), (Self.fields(), "\"environment\" = \"Production\";", nil),
            (Self.fields(), "\"environment\" = \"Sandbox\";", "Sandbox"), (inStore, "", "Production"),
            (inStore, "\"environment\" = \"Sandbox\";", nil),
        ] as [(String, String, String?)] {
            let (bytes, roots) = try await receipt(fields, wrapper: wrapper)
            let checked = try TransactionReceiptVerifier(roots: roots).check(bytes)
            #expect(checked.signature == .valid && checked.receipt.environment == environment)
        }
    }

    /// Else a tester's receipt, its claim left out, would be one that somebody paid for.
    @Test(arguments: [("", ""), ("0", ""), ("521129812", "Production")])
    func takesNoZeroForAnAppsID(id: String, environment: String) throws {
        #expect(try answer(Self.fields("\"app-item-id\" = \"\(id)\";\n")).environment == environment)
    }

    @Test(arguments: ["\"environmenu\" = \"Sandbox\";", "\"environment\" = \"Sandbux\";", "\"a\" = \"b\";"])
    func refusesWrappersThatNoReceiptHas(wrapper: String) async throws {
        let (bytes, roots) = try await receipt(wrapper: wrapper)
        let place = String(decoding: bytes, as: UTF8.self).utf8.count - wrapper.utf8.count - 2
        #expect(throws: ReceiptError.payloadMalformed(position: place)) {
            try TransactionReceiptVerifier(roots: roots).check(bytes)
        }
    }

    @Test func refusesOtherFieldsUnderTheSignature() async throws {
        let (bytes, roots) = try await receipt()
        let changed = Self.fields().replacing("coins100", with: "coins999")
        let text = String(decoding: bytes, as: UTF8.self).replacing(
            Data(Self.fields().utf8).base64EncodedString(), with: Data(changed.utf8).base64EncodedString())
        let checked = try TransactionReceiptVerifier(roots: roots).check(Array(text.utf8))
        #expect(checked.signature == .invalid("the signature is wrong"))
        #expect(checked.receipt.answer.transactions.map(\.productID) == ["coins999"])
    }

    @Test func saysThatNothingIsSigned() throws {
        let info = Data(Self.fields().utf8).base64EncodedString()
        let checked = try TransactionReceiptVerifier().check(Array("{\"purchase-info\" = \"\(info)\";}".utf8))
        #expect(checked.signature == .absent)
        #expect(checked.receipt.answer.transactions.count == 1)
    }

    /// What an unsigned receipt with these fields holds.
    private func answer(_ fields: String) throws -> VerifiedReceiptAnswer {
        let text = "{\"purchase-info\" = \"\(Data(fields.utf8).base64EncodedString())\";}"
        return try TransactionReceiptVerifier().check(Array(text.utf8)).receipt.answer
    }

    @Test func readsEveryField() throws {
        let answer = try answer(
            Self.fields(
                """
                "original-purchase-date-ms" = "1700000001000"; "expires-date" = "1702592000000";
                "cancellation-date-ms" = "1700100000000"; "is-trial-period" = "true";
                "is-in-intro-offer-period" = "true"; "web-order-line-item-id" = "4711";
                """))
        var expected = AppStoreTransaction(
            transactionID: "1000000000000001", originalTransactionID: "1000000000000000", productID: "coins100",
            quantity: 2,
            purchaseDate: Date(timeIntervalSince1970: SharedAuthority.moment.timeIntervalSince1970.rounded(.down)))
        expected.originalPurchaseDate = Date(timeIntervalSince1970: 1_700_000_001)
        expected.expiresDate = Date(timeIntervalSince1970: 1_702_592_000)
        expected.cancellationDate = Date(timeIntervalSince1970: 1_700_100_000)
        (expected.isTrialPeriod, expected.isInIntroOfferPeriod) = (true, true)
        expected.webOrderLineItemID = "4711"
        #expect(answer.transactions == [expected] && answer.unusableRows == [])
        #expect(answer.applicationVersion == "7")
    }

    @Test func fallsBackToTheDateInWords() throws {
        let fields = Self.fields("\"purchase-date\" = \"2012-04-30 15:05:55 Etc/GMT\";\n")
        let answer = try answer(fields.replacing("purchase-date-ms", with: "other"))
        #expect(answer.transactions.map(\.purchaseDate) == [Date(timeIntervalSince1970: 1_335_798_355)])
    }

    /// It must not pass for no expiry, or no refund.
    @Test(arguments: [
        ("expires-date", "expires-date"), ("expires-date-formatted", "expires-date"),
        ("cancellation-date", "cancellation-date"), ("cancellation-date-ms", "cancellation-date"),
    ])
    func takesNoDateForAbsentThatCannotBeRead(field: String, name: String) throws {
        for date in ["soon", "0"] {
            let unreadable = try answer(Self.fields("\"\(field)\" = \"\(date)\";\n"))
            #expect(unreadable.transactions.isEmpty && unreadable.unusableRows == ["receipt: \(name) can't be read"])
        }
        for date in ["", "2012-04-30 15:05:55 Etc/GMT"] {
            #expect(try answer(Self.fields("\"\(field)\" = \"\(date)\";\n")).transactions.count == 1)
        }
    }

    @Test(arguments: [
        ("transaction-id", "", "transaction-id is missing"), ("product-id", "", "product-id is missing"),
        ("purchase-date-ms", "0", "purchase-date is missing or can't be read"),
        ("quantity", "two", "quantity can't be read"), ("quantity", "", nil),
    ])
    func namesTheFieldThatItCannotUse(field: String, value: String, flaw: String?) throws {
        let lines = Self.fields().split(separator: "\n").map { line in
            line.hasPrefix("\t\"\(field)\"") ? "\"\(field)\" = \"\(value)\";" : String(line)
        }
        let answer = try answer(lines.joined(separator: "\n"))
        #expect(answer.unusableRows == (flaw.map { ["receipt: \($0)"] } ?? []))
        #expect(answer.transactions.map(\.quantity) == (flaw == nil ? [1] : []))
    }

    /// Nothing may stand beside what is signed, nor be missing of it.
    @Test(arguments: [2, 3]) func takesNoSignatureThatIsCutOffOrOfAnotherVersion(version: UInt8) async throws {
        let authority = version == 2 ? try await Self.authority.value : try await SharedAuthority.authority
        let blob = try await authority.purchaseSignature(version: version, Array(Self.fields().utf8))
        #expect(TransactionReceiptSignature(blob)?.version == version)
        #expect(blob.indices.allSatisfy { TransactionReceiptSignature(Array(blob[..<$0])) == nil })
        #expect(TransactionReceiptSignature(blob + [0]) == nil)
        for other: UInt8 in [0, 1, 4] { #expect(TransactionReceiptSignature([other] + blob.dropFirst()) == nil) }
        #expect(throws: ReceiptError.empty) { try TransactionReceiptVerifier().check([]) }
    }

    @Test(arguments: [
        ("{", ReceiptError.truncated), ("{ \"a\" = \"b\"; }", .payloadMalformed(position: 2)),
        ("{ \"purchase-info\" = \"e30=\"", .truncated),
        ("{ \"purchase-info\" = (1); }", .payloadMalformed(position: 20)),
        ("{ \"purchase-info\" = \"!\"; }", .payloadMalformed(position: 2)), ("{ } x", .payloadMalformed(position: 4)),
        ("{ \"signature\" = \"\"; }", .notApples("the property list has no purchase-info")),
        ("{ pod = 1; pod = 2; }", .payloadMalformed(position: 11)),
        ("{ \"purchase-info\" = \"e30=\"; \"signature\" = \"AgAA\"; }", .payloadMalformed(position: 28)),
    ])
    func saysWhereTheListIsMalformed(text: String, error: ReceiptError) {
        #expect(throws: error) { try TransactionReceiptVerifier().check(Array(text.utf8)) }
    }

    @Test("A list of more entries than any receipt has is none", arguments: [(1000, true), (1001, false)])
    func holdsSoManyEntries(count: Int, isList: Bool) {
        let text = "{" + (0..<count).map { "k\($0)=v;" }.joined() + "}"
        let list = try? PropertyList(Array(text.utf8))
        #expect(list?.entries.count == (isList ? count : nil))
    }

    /// Its signer was certified by the iTunes Store's authority, which is compiled in and ends in Apple's root.
    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)")) func aReceiptOfApplesIsValid() throws {
        let checked = try TransactionReceiptVerifier().check(try ReceiptFixtures.transactionReceipt())
        #expect(checked.signature == .valid)
        let answer = checked.receipt.answer
        #expect(answer.environment == "Sandbox" && answer.bundleID == "com.mindmobapp.MindMob")
        let transaction = try #require(answer.transactions.first)
        #expect(transaction.transactionID == "1000000046178817")
        #expect(transaction.productID == "com.mindmobapp.download" && transaction.quantity == 1)
        #expect(transaction.purchaseDate == Date(timeIntervalSince1970: 1_335_798_355.868))
        guard
            case .untrusted = try TransactionReceiptVerifier(roots: .none).check(
                try ReceiptFixtures.transactionReceipt()
            ).signature
        else {
            Issue.record("trusted without a root")
            return
        }
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)")) func readsWhatUnityAndOldClientsSend() throws {
        let unity = try TransactionReceiptVerifier().check(
            try ReceiptFixtures.transactionReceipt("app-receipts/unity-wrapped.json"))
        #expect(unity.receipt.answer.transactions.count == 1)
        let legacy = try TransactionReceiptVerifier().check(
            try ReceiptFixtures.transactionReceipt("apple-test-jws/legacyTransaction"))
        #expect(legacy.signature == .absent && legacy.receipt.fields == ["transaction-id": "33993399"])
    }
}
