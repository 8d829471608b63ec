import AppStoreSimulator
import Commands
import Foundation
import Job
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// Notifications from files, as an app's server keeps them.
@Suite struct NoticeIntakeTests {
    private func take(
        _ lines: [String], naming mostNamed: Int = 20, _ settings: JobSettings
    ) async throws -> NoticeIntake.Summary {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "notifications").path(percentEncoded: false)
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
            return try await NoticeIntake(settings: settings).take(file, naming: mostNamed, stop: StopSignal())
        }
    }

    /// As Apple signed them, or as it posted them; the night after hears what they tell.
    @Test func whatAppleSignedIsTakenForTheNextRun() async throws {
        try await withPlay(.local, notices: NoticeScenarioTests.allTaken) { play in
            let bought = (1...2).map { play.buy("200000000000410\($0)", hoursAgo: 30) }
            let payloads = play.store.notifications(of: Play.bundleID)
            try #require(payloads.count == 2)
            let lines = [payloads[0] + "\r", "", #" {"signedPayload": "\#(payloads[1])"} "#, payloads[0]]
            let summary = try await take(lines, play.settings)
            #expect(summary.taken == 3 && summary.refusedCount == 0 && summary.refused.isEmpty)
            #expect(try await play.count("iap.notices") == 0)
            let (report, findings) = try await play.night()
            #expect(report.heard?.fresh == 2 && findings.caseIDs == Set(bought.map(\.id)))
        }
    }

    /// Each by its line and its reason, so many of them at the most.
    @Test func whatIsNoneOfTheAppsIsRefused() async throws {
        try await withPlay(.local, notices: NoticeScenarioTests.allTaken) { play in
            _ = play.buy("2000000000004103", hoursAgo: 30)
            let own = try #require(play.store.notifications(of: Play.bundleID).first)
            let foreign = Signed.notification(bundleID: "com.example.unknown")
            // One's words with another's signature.
            let altered = (own.split(separator: ".").dropLast() + foreign.split(separator: ".").suffix(1))
                .joined(separator: ".")
            let lines = [
                "no notification", altered, "", foreign,
                String(repeating: "x", count: 1 << 19), own, #"{"payload":"x"}"#,
            ]
            let summary = try await take(lines, play.settings)
            #expect(summary.taken == 1 && summary.refusedCount == 5)
            #expect(summary.refused.map(\.line) == [1, 2, 4, 5, 7])
            let isNone = "it is no notification: neither a JWS nor a signedPayload"
            #expect(
                summary.refused.map(\.why) == [
                    "it is no signed notification",
                    "the JWS signature is wrong: the contents were changed, or another key signed them",
                    "it is for the app “com.example.unknown”, not for com.example.game", isNone, isNone,
                ])
            let few = try await take(lines, naming: 2, play.settings)
            #expect(few.refusedCount == 5 && few.refused.map(\.line) == [1, 2])
        }
    }
}
