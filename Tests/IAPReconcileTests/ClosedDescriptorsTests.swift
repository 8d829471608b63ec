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
}
