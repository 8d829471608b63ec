import AppStoreSimulator
import Commands
import Foundation
import Intake
import Job
import PostgreSQL
import Reconciliation
import Synchronization
import Testing

/// A folder on another file system than that of the tests' folders, on which nothing of theirs can be moved.
private let otherDisk: URL? = {
    func device(_ path: String) -> dev_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_dev : nil
    }
    let own = device(FileManager.default.temporaryDirectory.path(percentEncoded: false))
    let other = ["/dev/shm", "/var/tmp"].first { device($0) != nil && device($0) != own }
    return other.map { URL(filePath: $0) }
}()

/// Decisions that are read back from a report, with the nights around them.
@Suite struct DecisionJobTests {
    /// A night with three cases, and the lines that decide on them.
    private func withCases(_ body: (Play, [ReportedCase], URL) async throws -> Void) async throws {
        try await withPlay { play in
            for number in 1...3 {
                let gems = play.buy("100000000\(number)")
                try await play.upload(play.receipt([gems]), for: gems)
            }
            let cases = try await play.night(1).findings.cases.sorted { $0.key < $1.key }
            try #require(cases.count == 3)
            try await withFolder { try await body(play, cases, $0) }
        }
    }

    private func write(_ decisions: [(ReportedCase, String)], to file: URL) throws {
        let lines = decisions.map { "\($0.0.mark.text),\($0.1),\n" }
        try Data(("case,decision,note\n" + lines.joined()).utf8).write(to: file)
    }

    private func read(_ play: Play, _ file: URL, isDryRun: Bool = false) async throws -> (DecisionTally, [String]) {
        let path = file.path(percentEncoded: false)
        let tally = try await DecisionJob(settings: play.deskSettings, form: DecisionFiles.form).run(
            DecisionOptions(file: path, by: "sue", resultFile: path + ".result.csv", isDryRun: isDryRun),
            stop: StopSignal())
        let results = try String(contentsOfFile: path + ".result.csv", encoding: .utf8)
        let rows = results.split(separator: "\n").dropFirst().map { row in
            row.split(separator: ",", omittingEmptySubsequences: false).dropFirst().prefix(4).joined(separator: " ")
                .trimmingCharacters(in: .whitespaces)
        }
        return (tally, rows)
    }

    @Test func linesAreCarriedOutOnce() async throws {
        try await withCases { play, cases, folder in
            let file = folder.appending(path: "list.csv")
            try write([(cases[0], "delivered"), (cases[1], "dismissed"), (cases[2], "")], to: file)

            let (tried, _) = try await read(play, file, isDryRun: true)
            #expect(tried.done == 2 && tried.refusedCount == 0)
            #expect(try await play.count("iap.cases WHERE state = 'open'") == 3)

            let (tally, rows) = try await read(play, file)
            #expect(tally.done == 2 && tally.isComplete)
            #expect(rows == ["1000000001 delivered done", "1000000002 dismissed done"])
            #expect(try await play.count("iap.cases WHERE closed_by = 'sue' AND note LIKE 'list.csv, line _'") == 2)

            let (again, repeated) = try await read(play, file)
            #expect(again.done == 0 && again.already == 2 && again.refusedCount == 0)
            #expect(repeated == ["1000000001 delivered already", "1000000002 dismissed already"])
            #expect(try await play.night(2).report.cases.total == 1)
        }
    }

    @Test func whatTheServerShallDeliverIsOrderedOnce() async throws {
        try await withCases { play, cases, folder in
            let file = folder.appending(path: "list.csv")
            try write([(cases[0], "deliver"), (cases[1], "deliver")], to: file)
            let (tried, _) = try await read(play, file, isDryRun: true)
            #expect(tried.done == 2)
            #expect(try await play.count("iap.redeliveries") == 0)
            let (tally, rows) = try await read(play, file)
            #expect(tally.done == 2)
            #expect(rows == ["1000000001 deliver done", "1000000002 deliver done"])
            #expect(try await read(play, file).0.already == 2)
            let taken = try await play.server(
                "SELECT count(*) AS n FROM iap.take_redeliveries(\(Play.bundleID), 10) WHERE user_id = 'anna'")
            #expect(try taken.decode("n", as: Int.self) == 2)
            for found in cases.prefix(2) {
                _ = try await play.server(
                    "SELECT iap.claim(\(Play.bundleID), \(found.key.id.text), 'anna', NULL) AS answer")
            }
            let report = try await play.night(2).report
            #expect(report.cases.total == 1 && report.redeliveries.delivered == 2)
            #expect(try await read(play, file).0.already == 2)
        }
    }

    @Test func whatIsNotAsTheReportShowedItIsRefused() async throws {
        try await withCases { play, cases, folder in
            let file = folder.appending(path: "list.csv")
            var foreign = cases[1]
            foreign.standing = "00000000-00000000"
            try write([(cases[0], "delivered"), (foreign, "delivered"), (cases[2], "delivered")], to: file)
            try await play.administer(
                "SELECT iap.claim(\(Play.bundleID), \(cases[0].key.id.text), 'anna', NULL)")
            try await play.administer(
                "UPDATE iap.cases SET owner_user_ids = '{bob}' WHERE transaction_id = \(cases[2].key.id.text)")
            let (tally, rows) = try await read(play, file)
            #expect(tally.done == 0 && tally.refusedCount == 3)
            #expect(
                rows == [
                    "1000000001 delivered refused already_delivered", "1000000002 delivered refused another_report",
                    "1000000003 delivered refused changed_since",
                ])
            #expect(try await play.count("iap.moves WHERE kind = 'resolved'") == 0)
        }
    }

    @Test func theJobsOwnRoleMayNot() async throws {
        try await withCases { play, cases, folder in
            let file = folder.appending(path: "list.csv")
            try write([(cases[0], "delivered")], to: file)
            let job = DecisionJob(settings: play.settings, form: DecisionFiles.form)
            let path = file.path(percentEncoded: false)
            await #expect(throws: JobError.self) {
                try await job.run(
                    DecisionOptions(file: path, by: "sue", resultFile: path + ".r", isDryRun: false), stop: StopSignal()
                )
            }
        }
    }

    /// - Parameter age: seconds from now on; a file may come from a machine whose clock is ahead.
    @Test(arguments: [-3600, 86_400] as [TimeInterval])
    func aNightTakesWhatLiesInTheFolder(age: TimeInterval) async throws {
        try await withCases { play, cases, folder in
            let files = ["a.csv", "new.csv", "broken.xlsx", ".hidden.csv", "list.ods", "undecided.csv", "locked.csv"]
                .map { folder.appending(path: $0) }
            try write([(cases[0], "delivered"), (cases[1], "deliverd")], to: files[0])
            try write([(cases[2], "delivered")], to: files[1])
            try Data("PK\u{3}\u{4}".utf8).write(to: files[2])
            for file in files[3...] { try Data("case,decision\n".utf8).write(to: file) }
            let manager = FileManager.default
            // Who made a link to it need not be who wrote it.
            let others = folder.appending(path: "others/list.csv")
            try manager.createDirectory(at: folder.appending(path: "others"), withIntermediateDirectories: true)
            try write([(cases[2], "delivered")], to: others)
            try manager.createSymbolicLink(at: folder.appending(path: "link.csv"), withDestinationURL: others)
            let written = Date().addingTimeInterval(age)
            // As LibreOffice leaves it when it crashes.
            try Data().write(to: folder.appending(path: ".~lock.locked.csv#"))
            for file in [files[0], files[2], files[3], files[4], files[5], files[6], others] {
                try manager.setAttributes([.modificationDate: written], ofItemAtPath: file.path(percentEncoded: false))
            }
            var play = play
            play.settings.decisions = DecisionFolder(
                path: folder.path(percentEncoded: false), database: play.deskSettings.database,
                form: DecisionFiles.form)
            let warnings = Mutex<[String: String]>([:])
            let night = try await play.night(2) { entry in
                guard entry.level == .warning, let file = entry.fields["decisions"] else { return }
                warnings.withLock { $0[file] = entry.message }
            }
            #expect(night.report.cases.total == 2)
            #expect(
                warnings.withLock { $0.keys.sorted() } == [
                    "broken.xlsx", "link.csv", "list.ods", "locked.csv", "new.csv", "undecided.csv",
                ])
            #expect(
                warnings.withLock { $0["locked.csv"] }
                    == "it is open in an office program, and stays; if it is not, remove .~lock.locked.csv#")
            #expect(warnings.withLock { $0["new.csv"] } == "it is still being written; the next night takes it")
            #expect(warnings.withLock { $0["list.ods"] }?.hasPrefix("it ends neither with .xlsx nor") == true)
            #expect(warnings.withLock { $0["undecided.csv"] }?.hasPrefix("nothing is decided in it") == true)

            let left = try manager.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).sorted()
            #expect(
                left == [
                    ".hidden.csv", ".~lock.locked.csv#", "broken.xlsx", "done", "link.csv", "list.ods", "locked.csv",
                    "new.csv", "others", "undecided.csv",
                ])
            let done = try manager.contentsOfDirectory(
                atPath: folder.appending(path: "done").path(percentEncoded: false)
            ).sorted()
            #expect(done.map { String($0.drop { $0 != "-" }) } == ["-a.csv", "-a.csv.result.csv"])
            let result = try String(
                contentsOf: folder.appending(path: "done/\(done.last ?? "")"), encoding: .utf8)
            #expect(result.contains("2,1000000001,delivered,done"))
            #expect(result.contains("3,1000000002,,refused,unknown_word"))
            #expect(try await play.count("iap.cases WHERE closed_by LIKE '%, by a.csv'") == 1)
        }
    }

    /// Nothing is decided that could not be put away.
    @Test func whereNothingCanBeMovedToNothingIsTaken() async throws {
        try await withCases { play, cases, folder in
            let manager = FileManager.default
            let file = folder.appending(path: "a.csv")
            try write([(cases[0], "delivered")], to: file)
            try manager.setAttributes(
                [.modificationDate: Date().addingTimeInterval(-3600)], ofItemAtPath: file.path(percentEncoded: false))
            let done = folder.appending(path: "done").path(percentEncoded: false)
            try Data().write(to: URL(filePath: done))
            let decisions = folder.path(percentEncoded: false)
            var play = play
            play.settings.decisions = DecisionFolder(
                path: decisions, database: play.deskSettings.database, form: DecisionFiles.form)
            let warnings = Mutex<[String]>([])
            let night = try await play.night(2) { entry in
                guard entry.level == .warning, entry.fields["decisions"] == decisions else { return }
                warnings.withLock { $0.append(entry.message) }
            }
            #expect(night.report.cases.total == 3)
            #expect(
                warnings.withLock(\.self) == [
                    "no decisions could be taken: \(done) can't be written: it is no folder, or not this user's to write to"
                ])
            let found = await Doctor(settings: play.settings, decisionsDirectory: decisions).examine()
                .first { $0.name == "decisions" }
            #expect(found?.verdict == .wrong && found?.text == "\(done) is no folder that this user may write to")
        }
    }

    /// What is decided is decided, and the log says why the file is still there.
    @Test(.enabled(if: otherDisk != nil)) func aFileThatCannotBeMovedAwayIsTakenAndSaysWhy() async throws {
        try await withCases { play, cases, folder in
            let manager = FileManager.default
            let elsewhere = try #require(otherDisk).appending(path: "iap-reconcile-\(UUID().uuidString)")
            try manager.createDirectory(at: elsewhere, withIntermediateDirectories: true)
            defer { try? manager.removeItem(at: elsewhere) }
            try manager.createSymbolicLink(at: folder.appending(path: "done"), withDestinationURL: elsewhere)
            let file = folder.appending(path: "a.csv")
            try write([(cases[0], "delivered")], to: file)
            try manager.setAttributes(
                [.modificationDate: Date().addingTimeInterval(-3600)], ofItemAtPath: file.path(percentEncoded: false))
            var play = play
            play.settings.decisions = DecisionFolder(
                path: folder.path(percentEncoded: false), database: play.deskSettings.database,
                form: DecisionFiles.form)
            let warnings = Mutex<[String]>([])
            let night = try await play.night(2) { entry in
                guard entry.level == .warning, entry.fields["decisions"] == "a.csv" else { return }
                warnings.withLock { $0.append(entry.message) }
            }
            #expect(night.report.cases.total == 2)
            let why = String(cString: strerror(EXDEV))
            #expect(warnings.withLock { $0.count == 1 && $0[0].contains("moved to done/: \(why); move it there") })
            #expect(manager.fileExists(atPath: file.path(percentEncoded: false)))
        }
    }

    @Test func whatANightWritesThereIsForTheGroupAndThroughNoLink() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "a.csv.result.csv").path(percentEncoded: false)
            let elsewhere = folder.appending(path: "elsewhere").path(percentEncoded: false)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
            #expect(throws: UnwritableFile.self) {
                _ = try DecisionResults(path, of: [], DecisionFiles.form, isForGroup: true)
            }
            #expect(!FileManager.default.fileExists(atPath: elsewhere))
            try FileManager.default.removeItem(atPath: path)
            _ = try DecisionResults(path, of: [], DecisionFiles.form, isForGroup: true)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o640)
        }
    }
}
