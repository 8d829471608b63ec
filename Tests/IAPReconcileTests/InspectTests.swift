import Foundation
import TestSupport
import Testing

/// The command `inspect`, as a person at the support desk uses it.
@Suite struct InspectTests {
    private var program: String { ProgramNight.program }
    private static let moment = Date.now.addingTimeInterval(3600).formatted(.iso8601)

    /// Writes the files, which the names of the arguments begin with `@`, and runs the command.
    private func inspect(
        _ arguments: String..., files: [String: [UInt8]] = [:], input: String? = nil
    ) async throws -> ChildProcess.Ended {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, contents) in files { try Data(contents).write(to: folder.appending(path: name)) }
        return try await ChildProcess.run(program, ["inspect"] + arguments, directory: folder.path, input: input)
    }

    @Test func saysWhatAReceiptHolds() async throws {
        let authority = try await ReceiptAuthority.make()
        let receipt = try await authority.appReceipt(ReceiptPayloadWriter.sample(made: Self.moment).octets)
        let ended = try await inspect(
            "receipt", "--trust-root", "root.cer", files: ["receipt": receipt, "root.cer": authority.root])
        #expect(ended.errors == "")
        #expect(
            ended.output == """
                {"application_version":"1.2.3","bundle_id":"com.example.app","environment":"Sandbox",\
                "file":"receipt","format":"app_receipt","signature":"valid","signed_at":"\(Self.moment)",\
                "transactions":[{"original_purchased_at":"\(Self.moment)",\
                "original_transaction_id":"2000000000000001","product_id":"coins100",\
                "purchased_at":"\(Self.moment)","quantity":2,"transaction_id":"2000000000000001",\
                "type":"Consumable"}]}

                """)
        #expect(ended.status == 0)
        let untrusted = try await inspect("-", input: Data(receipt).base64EncodedString())
        #expect(untrusted.status == 65)
        #expect(untrusted.output.contains(#""signature":"untrusted""#))
        #expect(untrusted.output.contains(#""reason":"the chain ends in “Test root”"#))
    }

    /// A night has several uploads in hand at a time, and anybody may send any.
    @Test(
        "An upload takes little memory, whatever is in it",
        arguments: [
            ("", ".", "", "the receipt is not base64 at byte 0"),
            (#"{"a":["#, "1,", "1]}", "this is neither a receipt"),
        ])
    func takesLittleMemory(beginning: String, piece: String, end: String, error: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let upload = beginning + String(repeating: piece, count: (15 << 20) / piece.utf8.count) + end
        try Data(upload.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let ended = try await ChildProcess.run(
            "/bin/sh", ["-c", #"ulimit -v 500000; exec "$@""#, "sh", program, "inspect", file.path])
        #expect(ended.status == 65, "\(ended.errors.prefix(500))")
        #expect(ended.output.contains(error))
    }

    @Test func givesALineForEachFile() async throws {
        let ended = try await inspect(
            "answer", "nowhere", "junk", "empty",
            files: ["answer": Array(#"{"status":21002}"#.utf8), "junk": Array("?".utf8), "empty": []])
        #expect(ended.status == 65)
        let lines = ended.output.split(separator: "\n")
        #expect(
            lines.first == """
                {"file":"answer","format":"verify_receipt_answer",\
                "problems":["the answer holds no receipt; its status is 21002"],"reason":"nothing is signed",\
                "signature":"absent","transactions":[]}
                """)
        #expect(lines.dropFirst().first?.hasPrefix(#"{"error":"nowhere can't be read"#) == true)
        #expect(lines.dropFirst(2).first == #"{"error":"the receipt is not base64 at byte 0","file":"junk"}"#)
        #expect(lines.last == #"{"error":"the receipt is empty","file":"empty"}"#)
    }

    @Test func aFolderIsToldInTheSystemsWords() async throws {
        let ended = try await ChildProcess.run(program, ["inspect", "/etc"])
        #expect(ended.status == 65)
        #expect(ended.output == #"{"error":"/etc can't be read: Is a directory","file":"/etc"}"# + "\n")
    }

    @Test(
        arguments: [
            ([], 64, "a file to inspect is missing"), (["--limit", "3", "x"], 64, "--limit is no option of “inspect”"),
            (["x", "--trust-root", "/nonexistent"], 65, "/nonexistent can't be read"),
            (["x", "--trust-root", "/dev/null"], 65, "/dev/null is not one certificate in DER form, and"),
        ] as [([String], Int32, String)])
    func refusesWhatItCanNotUse(arguments: [String], status: Int32, message: String) async throws {
        let ended = try await ChildProcess.run(program, ["inspect"] + arguments)
        #expect(ended.status == status)
        #expect(ended.output == "")
        #expect(ended.errors.contains(message))
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)")) func readsSignedTransactions() async throws {
        let folder = try #require(Fixtures.folder)
        let names = ["transaction-consumable", "renewal-info-2023-0", "notification-test-2022"].map { "jws/\($0).jws" }
        let ended = try await ChildProcess.run(program, ["inspect"] + names, directory: folder.path)
        #expect(ended.status == 0)
        let lines = ended.output.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains(#""signature":"valid""#) })
        #expect(lines.first?.contains(#""bundle_id":"com.goodheartapp","content":"transaction""#) == true)
        for part in [
            #""transaction_id":"2000000847061981""#, #""price_milliunits":230000"#, #""currency":"JPY""#,
            #""storefront":"JPN""#, #""type":"Consumable""#,
        ] {
            #expect(lines.first?.contains(part) == true, "\(part)")
        }
        for part in [
            #""content":"renewal_info""#, #""renewal_info":{"auto_renew_product_id":"#,
            #""original_transaction_id":"2000000335310644""#,
        ] {
            #expect(lines.dropFirst().first?.contains(part) == true, "\(part)")
        }
        for part in [
            #""content":"notification""#, #""notification":{"notification_uuid":"5e09dcfc-"#, #""type":"TEST""#,
        ] {
            #expect(lines.last?.contains(part) == true, "\(part)")
        }
        let forged = try await ChildProcess.run(
            program, ["inspect", "forged/transaction.jws", "forged/app-transaction.jws"], directory: folder.path)
        #expect(forged.status == 65)
        #expect(forged.output.matches(of: /"signature":"untrusted"/).count == 2)
        #expect(forged.output.contains(#""app_transaction":{"original_application_version":"1.0"}"#))
        let trusted = try await ChildProcess.run(
            program,
            ["inspect", "forged/transaction.jws", "forged/app-transaction.jws", "--trust-root"]
                + ["forged/jws-root.der"], directory: folder.path)
        #expect(trusted.status == 0)
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)")) func readsEveryReceiptOfApples() async throws {
        let folder = try #require(Fixtures.folder)
        let names = [
            "app-receipts/bliap-sandbox.b64", "app-receipts/sandbox-g5.b64", "app-receipts/recorded-receipt.b64",
            "app-receipts/kvitto-sandbox.bin", "app-receipts/consumable-and-subscription.b64",
            "app-receipts/no-purchases.b64", "app-receipts/unity-wrapped.json", "ios6-receipts/ios6-sandbox.b64",
        ]
        let ended = try await ChildProcess.run(program, ["inspect"] + names, directory: folder.path)
        #expect(ended.status == 0)
        let lines = ended.output.split(separator: "\n")
        #expect(lines.count == names.count)
        for line in lines { #expect(line.contains(#""signature":"valid""#)) }
        let counts = lines.map { $0.matches(of: /"transaction_id"/).count }
        #expect(counts == [1, 2, 2, 6, 7, 0, 1, 1])
    }
}
