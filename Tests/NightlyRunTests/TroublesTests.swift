import Verification
import Foundation
import Ledger
import Reconciliation
import Synchronization
import Testing

@testable import Job
@testable import NightlyRun

/// What keeps many receipts waiting is told once, in the words that say how to mend it.
@Suite struct TroublesTests {
    @Test func tellsTheTroubleOfMostReceipts() {
        var troubles = Troubles()
        #expect(troubles.greatest == nil)
        var areFirst = [
            troubles.add(2, of: "com.example.a", .tryAgain, "HTTP 503"),
            troubles.add(1, of: "com.example.b", .needsConfiguration, "no secret"),
        ]
        #expect(troubles.greatest == "2 of them, of com.example.a: HTTP 503")
        areFirst.append(troubles.add(4, of: "com.example.b", .needsConfiguration, "no secret either"))
        #expect(troubles.greatest == "5 of them, of com.example.b, for example: no secret")
        areFirst.append(troubles.add(5, of: "com.example.a", .unreadableAnswer, "HTML"))
        #expect(troubles.greatest == "5 of them, of com.example.a: HTML")
        #expect(areFirst == [true, true, false, true])
    }

    /// Where one app is verified by `verifyReceipt` and another by the App Store Server API, one of these may be down.
    @Test func anAppForWhichAppleWasNotReachedIsNamed() {
        var troubles = Troubles()
        troubles.judge("com.example.a")
        _ = troubles.add(9, of: "com.example.a", .appleUnreachable, "HTTP 503")
        #expect(troubles.unverifiable == nil)
        _ = troubles.add(1, of: "com.example.b", .appleUnreachable, "HTTP 503")
        #expect(troubles.unverifiable == "nothing of com.example.b could be verified: HTTP 503")
        // Apple answered to this one.
        _ = troubles.add(1, of: "com.example.b", .tryAgain, "status 21009")
        #expect(troubles.unverifiable == nil)
        _ = troubles.add(1, of: "com.example.b", .needsConfiguration, "no secret")
        #expect(troubles.unverifiable == "nothing of com.example.b could be verified: no secret")
    }

    @Test func aSentenceHasOneFullStop() {
        #expect(["lost it", "lost it.", "why?", ""].map(\.sentence) == ["lost it.", "lost it.", "why?", ""])
    }

    /// A night under way goes on with the rest another time only if what stopped it may be gone by then.
    @Test(
        arguments: [
            (.unusableSettings("x"), .configuration, false), (.connectionLost("x"), .unavailable, true),
            (.refused("x"), .noPermission, false), (.refusedByWorker("x"), .noPermission, false),
            (.forbidden("x"), .noPermission, false), (.noDatabase("x"), .configuration, false),
            (.schema("x"), .configuration, false), (.conflict("x"), .tryLater, true), (.cancelled, .unavailable, false),
            (.statementStopped("x"), .unavailable, true), (.exhausted("x"), .unavailable, true),
            (.forgottenRun("x"), .tryLater, false), (.unbalanced([]), .software, false),
            (.violated([]), .software, false), (.unfit("x"), .software, false), (.failed("x"), .software, false),
        ] as [(LedgerError, ExitCode, Bool)])
    func everyErrorOfTheLedgerHasItsCode(error: LedgerError, code: ExitCode, isInterruption: Bool) {
        #expect(JobError(error).exitCode == code)
        #expect(JobError(error, workingAs: .support).exitCode == code)
        #expect(JobError(interruptedBy: error)?.exitCode == (isInterruption ? ExitCode.tryLater : nil))
    }

    @Test func aStatementThatWasStoppedIsTriedLater() throws {
        let stopped = LedgerError.statementStopped("PostgreSQL 57014: canceling statement due to user request")
        #expect(JobError(stopped).exitCode == .unavailable)
        #expect(JobError(stopped).description.contains("nothing is damaged: PostgreSQL 57014: "))
        #expect(try #require(JobError(interruptedBy: stopped)).exitCode == .tryLater)
    }

    @Test func whatPostgreSQLHasNoRoomForIsTriedLater() throws {
        let full = LedgerError.exhausted("PostgreSQL 53100: could not extend file: No space left on device")
        #expect(JobError(full).exitCode == .unavailable)
        #expect(JobError(full).description.contains("nothing is damaged: PostgreSQL 53100: "))
        #expect(try #require(JobError(interruptedBy: full)).exitCode == .tryLater)
    }

    @Test func aRunThatTheDatabaseForgotIsTriedLater() {
        #expect(JobError(LedgerError.forgottenRun("came back without run 2")).exitCode == .tryLater)
    }

    /// The database is there: whoever holds the lock is looked for, and not PostgreSQL.
    @Test func aLockThatStaysIsTriedLater() {
        let locked = LedgerError.conflict("PostgreSQL 55P03: canceling statement due to lock timeout")
        #expect(JobError(locked).exitCode == .tryLater)
        #expect(JobError(locked, workingAs: .support).exitCode == .tryLater)
        #expect(JobError(locked).description.contains("lock stays in the way: PostgreSQL 55P03: "))
    }

    /// It lasts until somebody mends it, so nobody waits for the worker to come back.
    @Test func aWorkerThatRefusesALoginIsAMatterOfPermission() {
        let refused = LedgerError.refusedByWorker("connection to the remote node iap_support@db2:5432 failed")
        #expect(JobError(refused).exitCode == .noPermission)
        #expect(JobError(refused, workingAs: .support).exitCode == .noPermission)
        #expect(JobError(interruptedBy: refused) == nil)
        #expect(JobError(refused).description.contains("iap_support@db2:5432"))
        #expect(JobError(refused).description.contains("pg_hba.conf"))
    }

    /// Without its shared secret Apple refuses the receipts of an app that have subscriptions.
    @Test func aMissingSecretIsLoggedOnceAndSaysWhyTheNightIsNotDone() async throws {
        try await withStage { stage in
            var stage = stage
            stage.settings.apps = stage.settings.apps.map { AppSettings(app: $0.app) }
            stage.settings.tryAgainShare = 0
            let log = Warnings()
            let (report, _) = try await stage.run(log: log.take)
            #expect(report.receipts.tryAgain > 1)
            guard case .endedEarly(let why) = report.outcome else {
                Issue.record("the night counts as done: \(report.outcome)")
                return
            }
            let expected = "\(report.receipts.tryAgain) of \(report.receipts.due) receipts must be tried again; "
            #expect(why.hasPrefix(expected), "\(why)")
            #expect(
                why.hasSuffix(
                    "Apple asks for the app's shared secret (21004), and none is configured: make one in App Store Connect"
                ))
            let warnings = log.entries.filter { $0.message == "receipts can't be verified until a setting is mended" }
            let apps = warnings.compactMap { $0.fields["bundle_id"] }
            #expect(!apps.isEmpty && Set(apps).count == apps.count)
            #expect(warnings.allSatisfy { $0.fields["error"]?.contains("21004") == true })
        }
    }
}

private final class Warnings: Sendable {
    private let taken = Mutex<[LogEntry]>([])

    var entries: [LogEntry] { taken.withLock { $0 } }

    func take(_ entry: LogEntry) {
        if entry.level == .warning { taken.withLock { $0.append(entry) } }
    }
}
