import Foundation
import TestSupport

/// The report, or standard output, can't be written.
enum Reports {
    static func scenarios() -> [Scenario] {
        [
            Scenario("report-full", "the report directory's disk is full, then the report is written again") {
                stage, _ in
                try await withSmallDisk(stage, size: "64k") {
                    try await stage.run(stage.job, expecting: [77])
                }
                try await writeAgainAndCompare(stage)
            },
            Scenario("report-limit", "a file of the report grows beyond its limit, then it is written again") {
                stage, _ in
                var job = stage.job
                job.shell = "ulimit -f 16; exec \"$@\""
                try await stage.run(job, expecting: [77])
                try await writeAgainAndCompare(stage)
            },
            Scenario("report-read-only", "the report directory read-only: nothing is touched; then a run") { stage, _ in
                let before = try await stage.fingerprint()
                try await withSmallDisk(stage, size: "64k", options: ",ro") {
                    try await stage.run(stage.job, expecting: [77])
                }
                guard try await stage.fingerprint() == before else { throw Broken("the ledger was touched") }
                try await stage.finishAndCompare()
            },
            Scenario("report-vanishes", "the report directory vanishes while it is written, then written again") {
                stage, _ in
                let job = stage.job.signalled(at: "reportBegun", passage: 1, signal: SIGSTOP)
                try await stage.run(job, expecting: [77]) { child in
                    guard try await child.waitUntilStopped() else { return }
                    try FileManager.default.removeItem(atPath: stage.reports)
                    child.send(signal: SIGCONT)
                }
                try await writeAgainAndCompare(stage)
            },
            Scenario(
                "output", "standard output closed; all three closed; a full disk; a reader that went away",
                points: 4
            ) { stage, point in
                let pipe = "\"\(stage.folder)/pipe\""
                var job = stage.job
                job.shell =
                    [
                        "exec \"$@\" >&-", "exec \"$@\" <&- >&- 2>&-", "exec \"$@\" >/dev/full 2>/dev/full",
                        "mkfifo \(pipe); true <\(pipe) & exec \"$@\" >\(pipe) 2>&1",
                    ][point.number - 1]
                try await stage.run(job, expecting: [0])
                try await stage.compare()
            },
        ]
    }

    /// Writes the report again, which is no part of the night's work: it can be written from the ledger at any time.
    private static func writeAgainAndCompare(_ stage: Stage) async throws {
        try await stage.waitUntilPostgreSQLNoticed()
        var job = stage.job
        job.command = ["report"]
        try await stage.run(job, expecting: [0])
        try await stage.compare()
    }

    /// Gives the reports a disk of their own, which only root may mount.
    private static func withSmallDisk(
        _ stage: Stage, size: String, options: String = "", _ body: () async throws -> Void
    ) async throws {
        try FileManager.default.createDirectory(atPath: stage.reports, withIntermediateDirectories: true)
        let mounted = try await ChildProcess.run(
            "/usr/bin/mount", ["-t", "tmpfs", "-o", "size=\(size)\(options)", "chaos", stage.reports])
        guard mounted.status == 0 else {
            throw Broken("needs to mount a tmpfs, as root: \(mounted.errors)")
        }
        do {
            try await body()
            try await ChildProcess.runSuccessfully("/usr/bin/umount", [stage.reports])
        } catch {
            _ = try? await ChildProcess.run("/usr/bin/umount", ["-l", stage.reports])
            throw error
        }
    }
}
