import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// That nothing of what Apple tells is lost, whatever setting is wrong and whatever can't be used.
@Suite struct HearingScenarioTests {
    private static let allTaken = NoticeScenarioTests.allTaken

    private func hand(_ play: Play, _ payload: String, of bundleID: String = Play.bundleID) async throws {
        _ = try await play.server("SELECT iap.submit_notification(\(bundleID), \(payload)) AS answer")
    }

    /// The number that the simulated App Store gives the app.
    private func appAppleID() -> Int64 { SimulatedApp(bundleID: Play.bundleID, seed: 7).adamID }

    // MARK: Settings

    /// Nothing that Apple tells in the meantime is lost, and the night is not done.
    @Test func whatAWrongAppAppleIDRefusesIsHeardOnceItIsMended() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let bought = (1...3).map { play.buy("200000000000310\($0)", hoursAgo: 30) }
            let right = appAppleID()
            var wrong = play
            wrong.settings.apps[0].serverAPI?.appAppleID = right + 1
            let report = try await wrong.night().report
            guard case .endedEarly(let why) = report.outcome else {
                Issue.record("the night counts as done")
                return
            }
            #expect(why.contains("app_apple_id") && why.contains("\(right)"), "\(why)")
            // The mark stays before what was not heard.
            #expect(report.hearings.first?.heardThrough ?? .distantPast <= bought[0].purchasedAt)
            #expect(try await play.count("iap.notices") == 0)
            var mended = play
            mended.settings.apps[0].serverAPI?.appAppleID = right
            let next = try await mended.night(2)
            #expect(next.report.outcome == .complete)
            #expect(next.findings.caseIDs == Set(bought.map(\.id)))
        }
    }

    @Test func whatIsHandedOnUnderAWrongAppAppleIDIsTakenOnceItIsMended() async throws {
        try await withPlay(.local, hasKey: true, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000003111", hoursAgo: 30)
            try await hand(play, try #require(play.store.notifications(of: Play.bundleID).first))
            // Apple's history tells nothing.
            play.store.update { $0.notices.since = .distantFuture }
            var wrong = play
            wrong.settings.apps[0].serverAPI?.appAppleID = appAppleID() + 1
            _ = try await wrong.night()
            #expect(try await play.count("iap.handed_notices WHERE problem LIKE '%app_apple_id%'") == 1)
            let next = try await play.night(2)
            #expect(next.findings.caseIDs == [bought.id])
            #expect(try await play.count("iap.handed_notices") == 0)
        }
    }

    /// An app that goes live with the section of its tests.
    @Test func whatIsHandedOnUnderTheEnvironmentOfTestsIsTakenOnceItIsMended() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000003121", hoursAgo: 30)
            try await hand(play, try #require(play.store.notifications(of: Play.bundleID).first))
            var wrong = play
            wrong.settings.apps[0].app = App(play.settings.apps[0].app, environment: .sandbox)
            for number in 1...2 {
                let notTaken = try #require(try await wrong.night(number).report.hearings.first?.notTaken.first)
                #expect(notTaken.notices == 1 && notTaken.problem.contains("environment = sandbox"))
            }
            #expect(try await play.night(3).findings.caseIDs == [bought.id])
            #expect(try await play.count("iap.handed_notices") == 0)
        }
    }

    /// What only Apple told between the new start and the old one.
    @Test func whatAWrongStartKeptFromBeingHeardIsHeardOnceItIsMended() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let days: [Double] = [100, 50, 20, 3]
            let bought = days.map { play.buy("20000000000032\(Int($0) + 100)", hoursAgo: $0 * 24) }
            var late = play
            late.settings.apps[0].app = App(play.settings.apps[0].app, since: play.began - 10 * 86_400)
            #expect(try await late.night().findings.caseIDs == [bought[3].id])
            #expect(try await late.night(2).report.heard?.fresh == 0)
            var early = play
            early.settings.apps[0].app = App(play.settings.apps[0].app, since: play.began - 60 * 86_400)
            let dry = try await early.night(3, isDryRun: true)
            #expect(dry.report.heard?.fresh == 2)
            let mended = try await early.night(3)
            #expect(mended.report.heard?.fresh == 2)
            #expect(mended.findings.caseIDs == Set(bought.dropFirst().map(\.id)))
            let again = try await early.night(4)
            #expect(again.report.heard?.fresh == 0 && again.report.outcome == .complete)
        }
    }

    // MARK: What can't be used

    /// A page of Apple's history that holds these, and of all else that is asked nothing.
    private func withHistory<Value>(
        _ play: Play, _ signed: [String], _ body: (Play) async throws -> Value
    ) async throws -> Value {
        let items = signed.map { #"{"signedPayload":"\#($0)"}"# }.joined(separator: ",")
        return try await TestServer.with({ request, connection in
            guard request.path.contains("notifications/history") else {
                let body = #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#
                return connection.respond(404, body: Data(body.utf8))
            }
            let page = #"{"hasMore":false,"notificationHistory":[\#(items)]}"#
            return connection.respond(200, body: Data(page.utf8))
        }) { server in
            var changed = play
            changed.settings.apple.serverAPIProduction = server.url
            return try await body(changed)
        }
    }

    /// It is told of until the program can use it, or too long ago.
    @Test func anEntryOfTheHistoryThatCannotBeUsedIsKeptAndTold() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000003301", hoursAgo: 30)
            let good = try #require(play.store.notifications(of: Play.bundleID).first)
            let bad = Signed.notification(
                uuid: "u-7", bundleID: Play.bundleID,
                data: #","signedTransactionInfo":"\#(Signed.transaction("", bundleID: Play.bundleID))""#)
            try await withHistory(play, [bad, good]) { play in
                let dry = try await play.night(isDryRun: true)
                #expect(dry.findings.caseIDs == [] && dry.report.heard?.unknown == 1)
                #expect(try await play.count("iap.handed_notices") == 0)
                for number in 1...2 {
                    let night = try await play.night(number)
                    #expect(night.report.outcome == .complete)
                    #expect(try await play.count("iap.handed_notices WHERE payload = \(bad)") == 1)
                    let kept = try #require(night.report.hearings.first?.notTaken.first)
                    #expect(kept.notices == 1 && kept.heardBy == .history)
                    #expect(kept.problem.contains("transactionId"), "\(kept.problem)")
                }
                #expect(try await play.night(3).findings.caseIDs == [bought.id])
            }
        }
    }

    /// As a newer program may read what this one can't.
    @Test func whatWasKeptOfTheHistoryIsTakenOnceItCanBe() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000003302", hoursAgo: 30)
            let payload = try #require(play.store.notifications(of: Play.bundleID).first)
            try await play.administer(
                """
                INSERT INTO iap.handed_notices (payload_sha256, bundle_id, heard_by, payload, problem, refused_at)
                VALUES (
                    sha256(convert_to(\(payload), 'UTF8')), \(Play.bundleID), 'history', \(payload), 'unheard of', now())
                """)
            #expect(try await play.night().findings.caseIDs == [bought.id])
            #expect(try await play.count("iap.notices WHERE heard_by = 'history'") == 1)
            #expect(try await play.count("iap.handed_notices") == 0)
        }
    }

    /// Each with its own reason: of what an app's server hands on anybody may have posted the half.
    @Test func whatWasNotTakenIsCountedByWhy() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let foreign = Signed.notification(bundleID: Play.foreignBundleID)
            for payload in ["nonsense", "more nonsense", foreign] { try await hand(play, payload) }
            let notTaken = try #require(try await play.night().report.hearings.first?.notTaken)
            #expect(notTaken.map(\.notices) == [2, 1])
            #expect(notTaken.first?.problem.contains("no signed notification") == true)
            #expect(notTaken.last?.problem.contains(Play.foreignBundleID) == true)
        }
    }

    /// Anybody may post to an app's server, and its reason is kept in the database.
    @Test func whatNamesAnUnspeakableAlgorithmEndsNoNight() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000003303", hoursAgo: 30)
            try await hand(play, Signed.jws(#"{"notificationType":"TEST"}"#, algorithm: #"\u0000"#))
            try await hand(play, try #require(play.store.notifications(of: Play.bundleID).first))
            try await play.upload(Signed.jws(#"{"transactionId":"1"}"#, algorithm: #"\u0000"#), by: "mallory")
            let (report, findings) = try await play.night()
            #expect(report.outcome == .complete)
            #expect(report.hearings.first?.notTaken.map(\.notices) == [1])
            #expect(findings.caseIDs == [bought.id])
            #expect(try await play.count("iap.receipts WHERE error_code = 'unknown_signer'") == 1)
        }
    }

    /// Anybody may post to an app's server, so that it can't be kept for ever; what waits is.
    @Test func whatWasNotTakenGoesAfterAMonth() async throws {
        try await withPlay(.local) { play in
            try await hand(play, "nonsense")
            try await hand(play, "it waits", of: "com.zz")
            _ = try await play.night(1)
            // Refused tonight, however long it waited: a mended setting may let it in tomorrow.
            try await hand(play, "late nonsense")
            try await play.administer(
                """
                UPDATE iap.handed_notices
                SET submitted_at = submitted_at - interval '31 days', refused_at = refused_at - interval '31 days'
                """)
            try await hand(play, "fresh nonsense")
            let dry = try await play.night(2, isDryRun: true)
            #expect(dry.report.purged.notices == 0)
            #expect(try await play.night(2).report.purged.notices == 1)
            #expect(try await play.night(3).report.purged.notices == 0)
            #expect(try await play.count("iap.handed_notices WHERE payload <> 'nonsense'") == 3)
            #expect(try await play.count("iap.handed_notices") == 3)
            #expect(try await play.text("SELECT details ->> 'notices' FROM iap.events WHERE kind = 'purged'") == "1")
        }
    }

    /// Nobody would take them, ever.
    @Test func whatIsHandedOnForAnAppWithoutASectionIsToldOf() async throws {
        try await withPlay(.local) { play in
            for number in 1...2 { try await hand(play, "notification \(number)", of: "com.zz") }
            let report = try await play.night().report
            let setting = try #require(report.toMend.first { $0.bundleID == "com.zz" })
            #expect(setting.cause == .noSection && setting.notices == 2)
            #expect(setting.receipts == 0 && setting.transactions == 0)
            #expect(try await play.night(2, isDryRun: true).report.toMend == report.toMend)
        }
    }
}

extension App {
    /// The same app, but looked after in another environment, or from another moment on.
    fileprivate init(_ app: App, environment: Environment? = nil, since: Date? = nil) {
        self.init(
            bundleID: app.bundleID, environment: environment ?? app.environment, grace: app.grace,
            since: since ?? app.since,
            storefronts: app.storefronts, takesNotifications: app.takesNotifications, delivery: app.delivery)
    }
}
