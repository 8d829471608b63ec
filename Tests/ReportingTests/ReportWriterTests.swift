import Foundation
import Reconciliation
import Reporting
import TestSupport
import Testing

@Suite struct ReportWriterTests {
    private func write(
        to folder: String, runID: Int64? = 42, user: String = "user-1"
    ) throws -> (ReportWriter, (String) throws -> String) {
        let writer = try ReportWriter(directory: folder, programVersion: "1.0")
        try writer.begin(Sample.run(runID: runID))
        try writer.add(Sample.lostOrder(user: user))
        try writer.add(unusable: Sample.receipt(.empty))
        try writer.add(unverified: Sample.receipt(.tryAgain))
        try writer.add(Sample.suspicion)
        try writer.finish()
        let location = writer.location
        return (writer, { try String(contentsOfFile: "\(location)/\($0)", encoding: .utf8) })
    }

    @Test func putsTheReportWhereLatestPoints() throws {
        try withFolder { folder in
            let (writer, _) = try write(to: folder)
            #expect(writer.location == "\(folder)/2026-09-21-run-42")
            let latest = try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/latest")
            #expect(latest == "2026-09-21-run-42")
            let left = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            #expect(left == ["2026-09-21-run-42", "index.html", "latest"])
            let files = try FileManager.default.contentsOfDirectory(atPath: writer.location).sorted()
            #expect(
                files == [
                    "figures.json", "index.html", "lost-orders.csv", "lost-orders.xlsx", "report.json", "summary.txt",
                ])
            for file in files {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(writer.location)/\(file)")
                #expect(attributes[.posixPermissions] as? Int == 0o640)
            }
        }
    }

    /// Only what has reached its threshold is told; deliveries without the customer stand among the figures.
    @Test func whatIsOverAThresholdStandsFirstOnThePage() throws {
        try withFolder { folder in
            var run = Sample.run()
            var app = App(
                bundleID: try #require(BundleID("com.example.game")), environment: .production, grace: Grace(0),
                since: nil)
            app.thresholds.redeliveriesFailing = 3
            app.thresholds.oldestCase = 1
            var figures = AppFigures(bundleID: app.bundleID)
            figures.redeliveriesFailing = 4
            run.watched = WatchedFigure.all(of: app, figures, hearing: nil, now: Sample.now)
            run.redeliveries = RedeliveryFigures(ordered: 1, delivered: 40, open: 5, failing: 4)
            let writer = try ReportWriter(directory: folder, programVersion: "1.0")
            try writer.begin(run)
            try writer.finish()
            let page = try String(contentsOfFile: "\(writer.location)/index.html", encoding: .utf8)
            #expect(page.components(separatedBy: "data-alert").count == 2)
            let shown = page.replacing(/<[^>]*>/, with: "").replacing("&#39;", with: "'")
            #expect(
                shown.contains(
                    "redeliveries that the app's server left for a day, or took and did not claim: 4 (told from 3 on)"))
            #expect(shown.contains("4 笔补发一天未被应用服务器取走，或取走却未领取（自 3 笔起提醒）"))
            #expect(shown.contains("delivered without the customer") && shown.contains("其中屡次失败：4"))
            let json = try String(contentsOfFile: "\(writer.location)/report.json", encoding: .utf8)
            #expect(json.contains(#""alert":"redeliveries_failing""#), "\(json.prefix(2000))")
        }
    }

    @Test func whatASettingKeepsFromBeingLookedAtStandsInEveryForm() throws {
        try withFolder { folder in
            var run = Sample.run()
            run.toMend = [
                SettingToMend(
                    cause: .refused, bundleID: "com.example.a", receipts: 3, transactions: 0,
                    detail: "Apple says <21004>"),
                SettingToMend(cause: .noSection, bundleID: "com.example.b", receipts: 1, transactions: 22, notices: 7),
                SettingToMend(cause: .noProducts, bundleID: "com.example.c", receipts: 0, transactions: 5),
            ]
            let writer = try ReportWriter(directory: folder, programVersion: "1.0")
            try writer.begin(run)
            try writer.finish()
            func text(_ name: String) throws -> String {
                try String(contentsOfFile: "\(writer.location)/\(name)", encoding: .utf8)
            }
            let summary = try text("summary.txt")
            let lines = summary.split(separator: "\n").filter { $0.hasPrefix("to mend") }
            #expect(lines.count == 3)
            #expect(lines[0].contains("Apple says <21004>"))
            #expect(lines[1].contains("[app com.example.b]") && lines[1].contains("22") && lines[1].contains("wait: 7"))
            let page = try text("index.html")
            #expect(page.contains("Apple says &lt;21004&gt;") && !page.contains("<21004>"))
            #expect(page.contains("com.example.b") && page.contains("com.example.c"))
            let json = try text("report.json")
            #expect(
                json.contains(
                    #"{"bundle_id":"com.example.b","cause":"no_section","notices":7,"receipts":1,"transactions":22}"#))
        }
    }

    @Test func writesTheSameFindingsAsTheSameBytes() throws {
        try withFolder { folder in
            let (writer, _) = try write(to: folder)
            let before = try bytes(of: writer.location)
            #expect(before.count == 6)
            let (again, _) = try write(to: folder)
            let after = try bytes(of: again.location)
            #expect(after == before)
        }
    }

    /// Databases that share a directory number their runs alike.
    @Test(arguments: [false, true])
    func takesThePlaceOfNoOtherRunsReport(begunAtOnce: Bool) throws {
        try withFolder { folder in
            func write(_ run: RunReport) throws -> ReportWriter {
                let writer = try ReportWriter(directory: folder, programVersion: "1.0", isWrittenAgain: true)
                try writer.begin(run)
                try writer.finish()
                return writer
            }
            var runs = [Sample.run(cases: 1), Sample.run(cases: 2)]
            for place in runs.indices { runs[place].trail = AuditTrail(entries: 9, end: "\(place)") }
            if !begunAtOnce {
                runs[1].now = Sample.now.addingTimeInterval(1)
                runs[0].trail = nil
            }
            let names = ["2026-09-21-run-42", "2026-09-21-run-42-2"]
            // Written again, each has its own.
            for (run, name) in zip(runs + runs.reversed(), names + names.reversed()) {
                let writer = try write(run)
                #expect(writer.location == "\(folder)/\(name)")
                #expect(writer.isNamesake == (name == names[1]))
                #expect(writer.summary.contains("\(folder)/\(name)\n"))
                #expect(try String(contentsOfFile: "\(writer.location)/summary.txt", encoding: .utf8) == writer.summary)
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            #expect(left == names + ["index.html", "latest"])
            let page = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
            #expect(page.contains("<b>1</b>") && page.contains("<b>2</b>"))
        }
    }

    private func bytes(of folder: String) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(filePath: "\(folder)/\($0)"))) })
    }

    @Test func keepsADryRunFromLatest() throws {
        try withFolder { folder in
            let (writer, _) = try write(to: folder, runID: nil)
            #expect(writer.location.hasSuffix("2026-09-21-dry-run"))
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/latest"))
        }
    }

    @Test func writesJSONThatParsesWithEveryFinding() throws {
        try withFolder { folder in
            let (_, read) = try write(to: folder)
            let object = try JSONSerialization.jsonObject(with: Data(try read("report.json").utf8))
            let report = try #require(object as? [String: Any])
            #expect(
                Set(report.keys) == [
                    "run", "schema_version", "totals", "cases", "unusable_receipts", "unverified_receipts",
                    "suspicious", "sold_against_seen",
                ])
            let lost = try #require((report["cases"] as? [[String: Any]])?.first)
            #expect(lost["transaction_id"] as? String == "120000123456789012")
            #expect(lost["price_milliunits"] as? Int == 230_000)
            #expect(lost["order_ids"] as? [String] == ["order-9"])
            #expect(lost["is_list_price"] as? Bool == true)
            let unusable = try #require((report["unusable_receipts"] as? [[String: Any]])?.first)
            #expect(unusable["user_id"] as? String == Sample.hostile)
        }
    }

    @Test func defusesCellsAndKeepsIdsAsText() throws {
        try withFolder { folder in
            let (writer, _) = try write(to: folder, user: "=HYPERLINK(\"x\")")
            let bytes = try Data(contentsOf: URL(filePath: "\(writer.location)/lost-orders.csv"))
            #expect(bytes.starts(with: [0xEF, 0xBB, 0xBF]))
            let csv = String(decoding: bytes.dropFirst(3), as: UTF8.self)
            #expect(csv.hasPrefix("likelihood,user,"))
            #expect(csv.contains("'120000123456789012"))
            #expect(csv.contains("\"'=HYPERLINK(\"\"x\"\")\""))
            #expect(csv.contains("一百金币"))
            #expect(csv.hasSuffix("\r\n"))
        }
    }

    /// Where no app is connected, all that was paid is looked at by nobody.
    @Test func withoutCasesItSaysNoMoreThanWasLookedAt() throws {
        try withFolder { folder in
            let writer = try ReportWriter(directory: folder, programVersion: "1.0")
            try writer.begin(Sample.run(cases: 0))
            try writer.finish()
            let page = try String(contentsOfFile: "\(folder)/latest/index.html", encoding: .utf8)
            #expect(page.contains("No likely lost order: nothing that is looked at is owed past its grace."))
        }
    }

    @Test func leavesNothingOfAClientLiveInThePage() throws {
        try withFolder { folder in
            let (_, read) = try write(to: folder, user: Sample.hostile)
            let page = try read("index.html")
            #expect(!page.contains("<img"))
            #expect(page.contains("&lt;img src=x onerror=alert(1)&gt;"))
            #expect(!page.contains("\u{7}"))
            #expect(page.components(separatedBy: "<script").count == 4)
        }
    }

    @Test(arguments: ["style", "script"])
    func letsInNoStyleOrScriptButItsOwn(element: String) throws {
        try withFolder { folder in
            let (_, read) = try write(to: folder)
            let page = try read("index.html")
            let text = try #require(
                page.components(separatedBy: "<\(element)>").last?.components(separatedBy: "</\(element)>").first)
            let named = try #require(
                page.components(separatedBy: "\(element)-src 'sha256-").last?.components(separatedBy: "'").first)
            let file = "\(folder)/\(element)"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let script = #"openssl dgst -sha256 -binary "$1" | openssl base64"#
            let reckoned = try digest(script, file)
            #expect(reckoned == named, "the hash in PageAssets.swift is another")
        }
    }

    private func digest(_ script: String, _ file: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script, "sh", file]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func sumsUpInFewLines() throws {
        try withFolder { folder in
            let (writer, read) = try write(to: folder)
            let summary = try read("summary.txt")
            #expect(summary == writer.summary)
            #expect(summary.components(separatedBy: "\n").count <= 60)
            #expect(summary.contains("1 (1 high, 0 medium, 0 low)"))
            #expect(summary.contains("1 new, 0 still open, 0 reopened, 0 closed"))
            #expect(summary.contains("230 JPY"))
            #expect(summary.components(separatedBy: ": OK").count == 3)
        }
    }

    @Test func refusesADirectoryThatCannotBe() throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let file = "\(folder)/a file"
            _ = FileManager.default.createFile(atPath: file, contents: nil)
            #expect(throws: ReportError.self) {
                try ReportWriter(directory: "\(file)/reports", programVersion: "1.0")
            }
        }
    }

    @Test func leavesNothingOfAReportThatWasNotFinished() throws {
        try withFolder { folder in
            do {
                let writer = try ReportWriter(directory: folder, programVersion: "1.0")
                try writer.begin(Sample.run())
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(left == [])
        }
    }

    @Test func aFolderInThePlaceOfTheLatestIsNamedAndLeavesNoLink() throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(atPath: "\(folder)/latest", withIntermediateDirectories: true)
            let writer = try ReportWriter(directory: folder, programVersion: "1.0")
            try writer.begin(Sample.run())
            let error = #expect(throws: ReportError.self) { try writer.finish() }
            #expect(error?.description.contains("\(folder)/latest") == true)
            let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(!left.contains { $0.hasSuffix(".latest") }, "\(left)")
        }
    }

    @Test func takesAwayWhatKilledRunsLeftAndNothingOfARunUnderWay() throws {
        try withFolder { folder in
            let underWay = try ReportWriter(directory: folder, programVersion: "1.0")
            try underWay.begin(Sample.run())
            let living = try FileManager.default.contentsOfDirectory(atPath: folder)
            for dead in [".report-killed", ".report-other.old"] {
                try FileManager.default.createDirectory(atPath: "\(folder)/\(dead)", withIntermediateDirectories: true)
                try "half of it".write(toFile: "\(folder)/\(dead)/index.html", atomically: true, encoding: .utf8)
            }
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/.report-third.latest", withDestinationPath: "2026-09-21-run-1")
            do {
                let next = try ReportWriter(directory: folder, programVersion: "1.0")
                #expect(next.location == "")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == living)
            try underWay.finish()
            #expect(FileManager.default.fileExists(atPath: "\(folder)/latest/index.html"))
        }
    }
}
