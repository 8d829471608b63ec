import Foundation
import PostgreSQL
import TestSupport
import Testing

/// What a client sent means nothing to any program that later shows it, and is lost nowhere.
@Suite struct HostileTextTests {
    @Test func nothingOfAClientIsLiveInAnyOutput() async throws {
        try await withProgramNight(customers: 30) { night in
            let hostile = HostileNight(night: night)
            try await hostile.play()
            try await theNightTells(night)

            let report = URL(filePath: night.reports).appending(path: "latest").resolvingSymlinksInPath()
            try theReportIsDead(report)
            try everyTextIsInTheJSON(report.appending(path: "report.json"))
            try everyCellIsDead(report.appending(path: "lost-orders.csv"))
            try await theSpreadsheetIsDead(report.appending(path: "lost-orders.xlsx"), night)

            let again = try await ChildProcess.run(
                ProgramNight.program,
                ["report", "--config", night.configuration, "--log-format", "json", "--verbose"])
            #expect(again.status == 0)
            expectDead(again.output + again.errors, "the log as JSON")
            let verified = try await ChildProcess.run(
                ProgramNight.program, ["verify", "--config", night.configuration])
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
            try await theSupportDeskIsSafe(night)
        }
    }

    @Test func whatCannotBeStoredIsRefusedAndNothingElseIsLost() async throws {
        try await withScratchDatabase { database in
            let server = try await database.connect(as: "iap_app")
            defer { server.close() }
            let megabyte = String(repeating: "<b>", count: 1 << 19)
            for (argument, state) in [
                (#"user_id => E'\x80'"#, "22021"), (#"user_id => convert_from('\xc3'::bytea, 'UTF8')"#, "22021"),
                (#"user_id => 'a' || chr(0)"#, "54000"), ("user_id => '\(megabyte)'", "22023"),
                ("user_id => 'a', order_id => '\(megabyte)'", "22023"),
                ("user_id => 'a', transaction_id => '\(megabyte)'", "22023"),
                (#"user_id => 'a', device => '{"name": "\u0000"}'"#, "22P05"),
                (#"user_id => 'a', device => '{"name": "\ud800"}'"#, "22P02"),
            ] {
                let error = await #expect(throws: PostgreSQLError.self, "\(argument.prefix(60))") {
                    _ = try await server.query(
                        "SELECT iap.submit_receipt(bundle_id => 'com.a', payload => 'p', \(unsafe: argument))")
                }
                #expect(error?.sqlState?.rawValue == state, "\(argument.prefix(60)): \(String(describing: error))")
                #expect(error?.description.contains("<b><b>") == false)
            }
            // What a client of another encoding sends is converted: here, two bytes are two characters.
            try await server.execute("SET client_encoding = 'LATIN1'")
            _ = try await server.query(
                "SELECT iap.submit_receipt(bundle_id => 'com.a', payload => 'p', user_id => 'a\u{9B}')")
            let admin = try await database.connect()
            defer { admin.close() }
            let rows = try await admin.query("SELECT ascii(right(user_id, 1)), length(user_id) AS n FROM iap.receipts")
            #expect(try rows.map { try $0.decode("ascii", as: Int.self) } == [0x9B])
            #expect(try rows.map { try $0.decode("n", as: Int.self) } == [3])
        }
    }

    /// Lines that can't be stored are named, without anything live, and the lines around them are taken.
    @Test(arguments: ["text", "json"])
    func hostileLinesOfAFileAreRefusedOneByOne(log: String) async throws {
        try await withScratchDatabase { database in
            try await withTemporaryFolder { folder in
                let hostile = HostileNight(night: ProgramNight(database: database, folder: folder))
                let good = #"{"bundle_id":"com.a","order_id":"%","user_id":"u","product_id":"p"}"#
                let bad = [
                    #"{"bundle_id":"com.a","order_id":"\u0000","user_id":"u","product_id":"p"}"#,
                    #"{"bundle_id":"com.a","order_id":"\ud800","user_id":"u","product_id":"p"}"#,
                    #"{"bundle_id":"com.a","order_id":"\u001b[2J\u202e\u009b","user_id":"","product_id":"p"}"#,
                    #"{"bundle_id":"com.a","order_id":"\u001b[2Jx","user_id":"u","product_id":"p\u2028"}"#,
                    #"{"\u001b]0;x\u0007\u202e":1}"#, "\u{1B}[2J\u{202E}",
                    #"{"bundle_id":"com.a","order_id":"1","product_id":"p","user_id":""#
                        + String(repeating: "=", count: 1 << 20) + #""}"#,
                ]
                let file = bad.enumerated().flatMap { [$1, good.replacing("%", with: "\($0)")] }
                let ended = try await hostile.importing(
                    "orders", file.joined(separator: "\n"), format: "jsonl", ["--log-format", log])
                #expect(ended.status == 65)
                #expect(ended.output.contains("taken             7\n"), "\(ended.output)")
                expectDead(ended.output + ended.errors, "what import says")

                let header = try await hostile.importing("orders", "\u{1B}[2J\u{202E},order_id\n", format: "csv")
                #expect(header.status == 65)
                expectDead(header.errors, "what import says of a header")
            }
        }
    }

    // MARK: What must hold of an output

    private func expectDead(_ text: String, _ place: String) {
        #expect(!text.isEmpty && HostileText.live(in: text) == [], "\(place)")
    }

    /// By every way of telling, and on the terminal.
    private func theNightTells(_ night: ProgramNight) async throws {
        try await TestServer.with({ _, connection in connection.respond() }) { server in
            try await night.tellEverybody(server.url)
            let run = try await ChildProcess.run(ProgramNight.program, night.run + ["--verbose"])
            try #require(run.status == 0, "\(run.errors)")
            expectDead(run.output, "the printed summary")
            expectDead(run.errors, "the log")
            expectDead(try night.text("mail"), "the mail")
            expectDead(try night.text("iap.prom"), "the metrics")
            #expect(Set(server.log.map(\.path)) == ["/start", "/success", "/hook"])
            for request in server.log.filter({ !$0.body.isEmpty }) {
                expectDead(String(decoding: request.body, as: UTF8.self), "what \(request.path) is told")
            }
        }
    }

    private func theReportIsDead(_ folder: URL) throws {
        expectDead(try String(contentsOf: folder.appending(path: "summary.txt"), encoding: .utf8), "summary.txt")
        let pages = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "html" }
        #expect(!pages.isEmpty)
        for page in pages + [folder.deletingLastPathComponent().appending(path: "index.html")] {
            let html = try String(contentsOf: page, encoding: .utf8)
            let isOfARun = page.deletingLastPathComponent().lastPathComponent == folder.lastPathComponent
            #expect(html.contains("&lt;img") || !isOfARun)
            #expect(!html.contains("<img") && !html.contains("<script>alert") && !html.contains("<!--"))
            #expect(html.firstMatch(of: /[^\\]" onmouseover/) == nil)
            let controls = html.unicodeScalars.filter {
                $0.properties.generalCategory == .control && $0 != "\n" && $0 != "\t"
            }
            #expect(controls.isEmpty, "\(page.lastPathComponent)")
        }
    }

    private func everyTextIsInTheJSON(_ file: URL) throws {
        let data = try Data(contentsOf: file)
        expectDead(String(decoding: data, as: UTF8.self), "report.json")
        let report = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let cases = try #require(report["cases"] as? [[String: Any]])
        let unusable = try #require(report["unusable_receipts"] as? [[String: Any]])
        for text in HostileText.allCases {
            let found = try #require(
                cases.first { $0["transaction_id"] as? String == HostileNight.transactionID(of: text) })
            #expect(isSame(found["owner"], text) && isSame(found["product_name"], text), "\(text)")
            #expect((found["order_ids"] as? [String] ?? []).contains { isSame($0, text) }, "\(text)")
            let device = try #require(found["device"] as? String)
            let fields = try JSONDecoder().decode([String: String].self, from: Data(device.utf8))
            #expect(isSame(fields["model"], text), "\(text)")
            #expect(cases.contains { $0["transaction_id"] as? String == HostileNight.admittedID(of: text) })
            #expect(unusable.contains { isSame($0["transaction_id"], text) && isSame($0["user_id"], text) })
        }
    }

    /// Scalar by scalar: to Swift, texts are equal that are written differently.
    private func isSame(_ value: Any?, _ text: HostileText) -> Bool {
        (value as? String).map { $0.unicodeScalars.elementsEqual(text.text.unicodeScalars) } ?? false
    }

    private func everyCellIsDead(_ file: URL) throws {
        let text = String(decoding: try Data(contentsOf: file).dropFirst(3), as: UTF8.self)
        let records = CSVText.records(of: text)
        #expect(records.count > HostileText.allCases.count * 2)
        #expect(Set(records.map(\.count)).count == 1, "a text broke out of its cell")
        for cell in records.joined() {
            if let first = cell.unicodeScalars.first {
                #expect(!"=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars.contains(first), "\(cell)")
            }
            let live = cell.unicodeScalars.filter { scalar in
                let isControl = scalar.properties.generalCategory == .control
                if isControl { return !"\t\r\n".unicodeScalars.contains(scalar) }
                return (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
            }
            #expect(live.isEmpty)
        }
    }

    /// Every text is a string to the spreadsheet, and its XML can be read.
    private func theSpreadsheetIsDead(_ file: URL, _ night: ProgramNight) async throws {
        let folder = night.folder.appending(path: "xlsx").path(percentEncoded: false)
        try await ChildProcess.runSuccessfully(
            "/usr/bin/python3",
            [
                "-c",
                """
                import sys, zipfile
                from xml.etree import ElementTree
                book = zipfile.ZipFile(sys.argv[1])
                for name in book.namelist():
                    ElementTree.fromstring(book.read(name))
                book.extractall(sys.argv[2])
                """, file.path(percentEncoded: false), folder,
            ])
        let sheet = try String(contentsOfFile: folder + "/xl/worksheets/sheet1.xml", encoding: .utf8)
        #expect(sheet.contains("=HYPERLINK(") && !sheet.contains("<f>") && !sheet.contains("<f "))
        #expect(!sheet.contains("<hyperlink"))
    }

    private func theSupportDeskIsSafe(_ night: ProgramNight) async throws {
        for text in HostileText.allCases {
            let told = try await check(HostileNight.transactionID(of: text), night)
            #expect(told.output.contains("paid, not delivered: "), "\(text): \(told.output)\(told.errors)")
            expectDead(told.output, "check, \(text)")
            let user = try await check(text.text, night, ["--json"])
            expectDead(user.output, "check --json, \(text)")
            let answer = try JSONSerialization.jsonObject(with: Data(user.output.utf8)) as? [String: Any]
            #expect(isSame(answer?["id"], text))
            #expect((answer?["orders"] as? [[String: Any]] ?? []).contains { isSame($0["user_id"], text) }, "\(text)")
        }
        let unknown = try await check("\u{1B}[2J\u{202E}nobody", night)
        expectDead(unknown.output + unknown.errors, "check of what nobody knows")
    }

    private func check(
        _ id: String, _ night: ProgramNight, _ further: [String] = []
    ) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(
            ProgramNight.program, ["check", "--config", night.configuration] + further + ["--", id])
    }
}

/// A reader of CSV that knows RFC 4180 and nothing else.
private enum CSVText {
    static func records(of text: String) -> [[String]] {
        var records: [[String]] = [[]]
        var (cell, isQuoted, mayDouble) = (String.UnicodeScalarView(), false, false)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"" where isQuoted: (isQuoted, mayDouble) = (false, true)
            case "\"":
                if mayDouble { cell.append(scalar) }
                isQuoted = true
            case "," where !isQuoted, "\n" where !isQuoted:
                records[records.count - 1].append(String(cell))
                cell = String.UnicodeScalarView()
                if scalar == "\n" { records.append([]) }
            case "\r" where !isQuoted: break
            default: cell.append(scalar)
            }
            if scalar != "\"" { mayDouble = false }
        }
        return records.dropLast()
    }
}
