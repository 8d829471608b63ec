import AppStoreSimulator
import Foundation
import TestSupport
import Testing

/// Some schedulers start a program without standard input, output and error: then the first connection to the database
/// would have the number of standard output.
@Suite struct ClosedDescriptorsTests {
    @Test(arguments: ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
    func aRunWorksAllTheSame(redirections: String) async throws {
        try await withProgramNight(customers: 45) { night in
            let shell = ["-c", "exec \"$@\" \(redirections)", "sh", ProgramNight.program]
            let ended = try await ChildProcess.run("/bin/sh", shell + night.run)
            #expect(ended.status == 0)
            let report = try String(contentsOfFile: "\(night.reports)/latest/summary.txt", encoding: .utf8)
            #expect(report.contains("complete: everything due was tried"))
            let verified = try await ChildProcess.run(
                ProgramNight.program, ["verify", "--config", night.configuration])
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
    }

    /// Some systems let a program have fewer open files than a night has requests in flight, but take more if it asks.
    @Test func aNightTakesTheOpenFilesThatItMayHave() async throws {
        try await withProgramNight(latency: Latency(median: 0.05, percentile99: 0.05)) { night in
            let ended = try await ChildProcess.run(
                "/bin/sh", ["-c", #"ulimit -Sn 50; exec "$@""#, "sh", ProgramNight.program] + night.run)
            #expect(ended.status == 0, "\(ended.errors)")
        }
    }

    @Test func aNightThatMayHaveTooFewOpenFilesIsRefused() async throws {
        try await withProgramNight(customers: 45) { night in
            let ended = try await ChildProcess.run(
                "/bin/sh", ["-c", #"ulimit -n 100; exec "$@""#, "sh", ProgramNight.program] + night.run)
            #expect(ended.status == 78)
            #expect(ended.errors.contains("need 106 open files, and the program may have 100; allow more (ulimit -n)"))
        }
    }

    /// What a full disk cut off would pass for a whole statement. The report's folder holds what a run found, so that a run
    /// is none the worse.
    @Test func aResultThatCannotBeWrittenIsSaid() async throws {
        try await withProgramNight(customers: 45) { night in
            let ran = try await redirected(night.run, ">/dev/full")
            #expect(ran.status == 0)
            #expect(ran.errors.contains("can't be written to standard output: No space left on device"))
            let month = ["statement", "2026-09", "--as-of", "2026-09-20"]
            let commands = [
                month, month + ["--format", "xlsx"], month + ["--format", "json"], ["history"], ["verify"],
                ["products", "--suggest"], ["doctor"],
            ].map { $0 + ["--config", night.configuration] }
            for command in commands + [["completion", "bash"], ["--help"], ["--version"]] {
                let ended = try await redirected(command, ">/dev/full")
                #expect(ended.status == 77 || command.first == "doctor" && ended.status != 0, "\(command)")
                #expect(ended.errors.contains("can't be written to standard output: No space left on device"))
            }
        }
    }

    @Test(arguments: ["", "trap '' PIPE; "]) func aReaderThatWentAwayIsNoError(parent: String) async throws {
        let script = parent + "{ sleep 0.2; \"$@\"; echo \"ended with $?\" >&2; } | true"
        let ended = try await ChildProcess.run("/bin/sh", ["-c", script, "sh", ProgramNight.program, "--help"])
        #expect(ended.errors == "ended with 0\n")
    }

    private func redirected(_ arguments: [String], _ redirections: String) async throws -> ChildProcess.Ended {
        let shell = ["-c", "exec \"$@\" \(redirections)", "sh", ProgramNight.program]
        return try await ChildProcess.run("/bin/sh", shell + arguments)
    }
}
