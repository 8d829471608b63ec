import Foundation
import TestSupport
import Testing

/// The line by which cron runs the job. Cron mails what it prints, and nothing else.
@Suite struct CronTests {
    @Test(arguments: [
        ("echo why >&2; exit 69", "69"), ("echo the report; exit 75", "75"), ("echo the report; echo a log >&2", nil),
    ])
    func whatCronMailsTellsOfARunThatFailed(run: String, code: String?) async throws {
        let file = PackageRoot.folder.appending(path: "cron/iap-reconcile.cron")
        let table = try String(contentsOf: file, encoding: .utf8)
        let line = try #require(table.split(separator: "\n").last)
        // Minute, hour, day, month, weekday, user; cron takes a % for the end of the line.
        let command = String(try #require(line.firstMatch(of: #/^(?:\S+\s+){6}(.+)$/#)).1)
        #expect(!command.contains("%"))
        try await withTemporaryFolder { folder in
            let place = folder.path(percentEncoded: false)
            try await Script.write(run, to: place + "/iap-reconcile")
            let ended = try await ChildProcess.run(
                "/bin/sh", ["-c", command.replacing("/var/log/iap-reconcile/", with: place)],
                environment: ["PATH": place + ":/usr/bin:/bin"])
            #expect(ended.errors == "")
            #expect(ended.output.contains("the report\n") == run.contains("the report"))
            #expect(ended.output.contains("exit code") == (code != nil))
            if let code { #expect(ended.output.contains("exit code \(code).")) }
        }
    }
}
