import Commands
import Foundation
import Notifications
import TestSupport
import Testing

@testable import IAPReconcile

/// The program as cron starts it.
@Suite struct ExecutableTests {
    @Test(
        arguments: [
            ([], 64, "a command is missing"),
            (["runn"], 64, "did you mean “run”?"),
            (["run", "--dryrun"], 64, "did you mean “--dry-run”?"),
            (["run", "--config", "/nonexistent/x.conf"], 78, "/nonexistent/x.conf: the configuration can't be read"),
            (["doctor", "--config", "/nonexistent/x.conf"], 78, "let “iap-reconcile setup” make one, or name another"),
            (["run", "--config", "/"], 78, "no regular file"),
        ] as [([String], Int32, String)])
    func badInputIsNamed(arguments: [String], status: Int32, message: String) async throws {
        let ended = try await ChildProcess.run(program, arguments)
        #expect(ended.status == status)
        #expect(ended.output == "")
        #expect(ended.errors.hasPrefix("iap-reconcile: "))
        #expect(ended.errors.contains(message))
    }

    /// What else would be stored in its place is nothing that anybody wrote.
    @Test func anArgumentThatIsNotUTF8IsRefused() async throws {
        let ended = try await ChildProcess.run("/bin/sh", ["-c", #""$0" check "$(printf '\377')""#, program])
        #expect(ended.status == 64)
        #expect(ended.errors.hasPrefix("iap-reconcile: argument 2 is not UTF-8\n"), "\(ended.errors)")
    }

    /// As the manual writes it, the command before its options, whatever the environment has.
    @Test func optionsMayFollowTheCommandWherePOSIXIsKeptTo() async throws {
        let ended = try await ChildProcess.run(
            "/usr/bin/env", ["POSIXLY_CORRECT=1", program, "check", "--config", "/nonexistent/x.conf", "--", "-1"])
        #expect(ended.status == 78, "\(ended.errors)")
    }

    @Test(arguments: [["--log-format", "json"], ["--log-format=json"]])
    func theLastLineIsJSONToo(option: [String]) async throws {
        for (arguments, code) in [(["runn"], 64), (["run", "--config", "/nonexistent/x.conf"], 78)] {
            let ended = try await ChildProcess.run(program, arguments + option)
            #expect(ended.status == Int32(code))
            let line = try #require(
                try JSONSerialization.jsonObject(with: Data(ended.errors.utf8)) as? [String: Any])
            #expect(line["level"] as? String == "error")
            #expect((line["fields"] as? [String: Any])?["exit_code"] as? String == "\(code)")
        }
    }

    @Test func doctorSeesAFolderWhereTheLatestReportIsShown() async throws {
        try await withTemporaryFolder { folder in
            let reports = folder.path(percentEncoded: false)
            #expect(ReportDirectory.examine(reports).verdict == .fine)
            let latest = folder.appending(path: "latest")
            try FileManager.default.createSymbolicLink(at: latest, withDestinationURL: folder)
            #expect(ReportDirectory.examine(reports).verdict == .fine)
            try FileManager.default.removeItem(at: latest)
            try FileManager.default.createDirectory(at: latest, withIntermediateDirectories: true)
            let found = ReportDirectory.examine(reports)
            #expect(found.verdict == .wrong && found.text.contains("latest is a folder"))
        }
    }

    @Test func doctorSeesAReportDirectoryThatIsALinkToNowhere() async throws {
        try await withTemporaryFolder { folder in
            let link = folder.appending(path: "reports").path(percentEncoded: false)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/nonexistent/disk")
            for reports in [link, "\(link)/of-the-job"] {
                let found = ReportDirectory.examine(reports)
                #expect(found.verdict == .wrong)
                #expect(found.text == "\(link) is a link to /nonexistent/disk, which is not there")
            }
        }
    }

    @Test func doctorSeesAMetricsFileThatIsAFolder() async throws {
        try await withTemporaryFolder { folder in
            for (name, verdict) in [("", Doctor.Finding.Verdict.wrong), ("iap.prom", .fine)] {
                let file = folder.appending(path: name).path(percentEncoded: false)
                let metrics = NotificationSettings(metrics: MetricsSettings(file: file))
                #expect(NotificationExamination(settings: metrics).findings.map(\.verdict) == [verdict], "\(file)")
            }
        }
    }

    @Test func helpAndVersionAreResults() async throws {
        let help = try await ChildProcess.runSuccessfully(program, ["--help"])
        #expect(help.hasPrefix("Usage: iap-reconcile COMMAND"))
        let version = try await ChildProcess.runSuccessfully(program, ["--version"])
        #expect(version.hasPrefix("iap-reconcile "))
    }

    @Test func aMisspeltConfigurationIsNamedByLine() async throws {
        try await withConfiguration("[run]\nworkerz = shared\n") { file in
            let ended = try await ChildProcess.run(program, ["run", "--config", file])
            #expect(ended.status == 78)
            #expect(
                ended.errors == """
                    iap-reconcile: \(file):2: unknown key “workerz” in [run]; did you mean “workers”?

                    """)
        }
    }

    @Test func aRunWithoutAppsIsRefused() async throws {
        try await withConfiguration("[database]\nconninfo = host=/nonexistent dbname=x\n") { file in
            let ended = try await ChildProcess.run(program, ["run", "--config", file])
            #expect(ended.status == 78)
            #expect(ended.errors.contains("no app is named"))
        }
    }

    @Test func withoutADatabaseNothingIsDone() async throws {
        let text = "[database]\nconninfo = host=/nonexistent dbname=x\n[app com.example.a]\n"
        try await withConfiguration(text) { file in
            let reports = file + ".reports"
            let ended = try await ChildProcess.run(program, ["run", "--config", file, "--report-dir", reports])
            #expect(ended.status == 69)
            #expect(ended.output == "")
            #expect(try await ChildProcess.run(program, ["migrate", "--config", file]).status == 69)
            let doctor = try await ChildProcess.run(program, ["doctor", "--config", file])
            #expect(doctor.status == 78)
            #expect(doctor.output.contains("wrong    database: "))
        }
    }

    @Test func aReportDirectoryThatIsAFileIsAMatterOfPermission() async throws {
        let text = "[database]\nconninfo = host=/nonexistent dbname=x\n[app com.example.a]\n"
        try await withConfiguration(text) { file in
            let ended = try await ChildProcess.run(program, ["run", "--config", file, "--report-dir", file])
            #expect(ended.status == 77)
            #expect(ended.errors.contains(file))
        }
    }

    /// What asks for a signal at a checkpoint is in the build for `make chaos` alone.
    @Test func noReleasedProgramKnowsCheckpoints() throws {
        let content = try Data(contentsOf: URL(filePath: program))
        #expect(content.range(of: Data("IAP_CHECKPOINT".utf8)) == nil)
        #expect(content.range(of: Data("Usage: iap-reconcile".utf8)) != nil)
    }

    private var program: String { ProgramNight.program }

    private func withConfiguration(_ text: String, _ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "x.conf").path(percentEncoded: false)
            try write(text, to: file)
            try await body(file)
        }
    }
}
