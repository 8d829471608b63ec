import SimulatedWorld
import Job
import Verification
import AppStoreSimulator
import Foundation
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// A setting that was wrong for a night costs nobody a purchase.
@Suite struct MendedSettingsTests {
    @Test func whatAWrongStartExcludedIsFoundOnceItIsMended() async throws {
        let undisturbed = try await undisturbedLedger()
        try await withStage { stage in
            let wrong = try await stage.with { App($0, since: Stage.now) }.run()
            #expect(wrong.findings.toldIDs == [])
            let (report, findings) = try await stage.run()
            #expect(report.totals.imbalances == [])
            #expect(findings.toldIDs == stage.lost)
            let ledger = try await stage.ledger()
            for table in ["iap.black", "iap.excluded", "iap.sightings"] {
                #expect(ledger[table] == undisturbed[table])
            }
            // Not row by row: who admitted a purchase is forgotten with its exclusion, and who uploaded it is not.
            for table in ["iap.white", "iap.cases"] {
                #expect(ledger[table]?.count == undisturbed[table]?.count)
            }
            let again = try await stage.run()
            #expect(again.report.receipts.due == 0)
            for view in ["finance.differences", "finance.unexplained"] {
                #expect(try await stage.rows(of: view) == [])
            }
        }
    }

    /// By the time that somebody notices, nothing may be left to be verified again.
    @Test(arguments: [false, true])
    func whatAWrongSettingExcludedIsFoundWithoutItsPayload(isOfEnvironment: Bool) async throws {
        try await withStage { stage in
            var stage = stage
            stage.settings.retention = Retention(payloads: 86_400)
            let wrong = stage.with {
                isOfEnvironment ? App($0, environment: .sandbox) : App($0, since: Stage.now + 20 * 86_400)
            }
            _ = try await wrong.run()
            let purging = try await wrong.run(RunOptions(now: Stage.now + 10 * 86_400))
            #expect(purging.findings.toldIDs.isDisjoint(with: stage.lost) && purging.report.purged.payloads > 0)
            let (report, findings) = try await stage.run(RunOptions(now: Stage.now + 11 * 86_400))
            #expect(report.totals.imbalances == [])
            #expect(findings.toldIDs.isSuperset(of: stage.lost))
            #expect(try await violations(stage.database) == [])
            for view in ["finance.differences", "finance.unexplained"] {
                #expect(try await stage.rows(of: view) == [])
            }
        }
    }

    /// Nobody would see otherwise that an app's purchases are not looked at.
    @Test func anAppWithoutASectionIsToldOf() async throws {
        try await withStage { stage in
            _ = try await stage.run()
            var without = stage
            let removed = try #require(without.settings.apps.first { $0.app.bundleID.text == "com.example.game" })
            without.settings.apps.removeAll { $0.app.bundleID == removed.app.bundleID }
            let connection = try await stage.database.connect()
            defer { connection.close() }
            _ = try await connection.query(
                "SELECT iap.submit_receipt(\(removed.app.bundleID.text), 'ann', 'a receipt', NULL, NULL, NULL)")
            try await connection.execute(
                "DELETE FROM iap.products WHERE bundle_id <> \(removed.app.bundleID.text)")
            without.settings.tryAgainShare = 1
            let (report, _) = try await without.run(RunOptions(now: Stage.now + 100 * 86_400))
            let sectionless = try #require(report.toMend.first { $0.cause == .noSection })
            #expect(sectionless.bundleID == removed.app.bundleID.text)
            #expect(sectionless.receipts > 0 && sectionless.transactions > 0)
            guard case .endedEarly(let why) = report.outcome else {
                Issue.record("the night counts as done")
                return
            }
            #expect(why.contains("nothing of com.example.game could be verified"), "\(why)")
            let priceless = report.toMend.filter { $0.cause == .noProducts }.map(\.bundleID)
            #expect(!priceless.contains("com.example.game"))
            let again = try await without.reportAgain()
            #expect(again.toMend == report.toMend)
        }
    }

    /// What the wrong environment took for owed goes with the next night's verification.
    @Test func whatAWrongEnvironmentExcludedIsFoundOnceItIsMended() async throws {
        try await withStage { stage in
            let wrong = try await stage.with { App($0, environment: .sandbox) }.run()
            #expect(wrong.findings.toldIDs.isDisjoint(with: stage.lost))
            let (report, findings) = try await stage.run()
            #expect(report.totals.imbalances == [])
            #expect(findings.toldIDs == stage.lost.union(wrong.findings.toldIDs))
        }
    }

    /// A start that was moved by two days lets through what lies between, and the rest stays excluded: of the app whose
    /// section says since when it is looked after.
    @Test func onlyWhatTheNewStartLetsThroughIsVerifiedAgain() async throws {
        try await withStage(seed: 5) { stage in
            let (late, early) = (Stage.now - 86_400, Stage.now - 3 * 86_400)
            _ = try await stage.with { $0.since == nil ? $0 : App($0, since: late) }.run()
            let mended = stage.with { $0.since == nil ? $0 : App($0, since: early) }
            let (report, findings) = try await mended.run()
            #expect(report.receipts.due > 0)
            let lost = Set(
                stage.truth.lost.filter { $0.purchasedAt >= early || $0.bundleID != "com.example.game" }
                    .map(\.transactionID))
            #expect(lost.count < stage.lost.count)
            #expect(findings.toldIDs == lost)
            let again = try await mended.run()
            #expect(again.report.receipts.due == 0)
        }
    }
}

extension Stage {
    /// The same stage with other settings of its apps.
    fileprivate func with(_ change: (App) -> App) -> Stage {
        var stage = self
        stage.settings.apps = settings.apps.map {
            AppSettings(app: change($0.app), sharedSecret: $0.sharedSecret)
        }
        return stage
    }
}

extension App {
    fileprivate init(_ app: App, environment: Environment? = nil, since: Date? = nil) {
        self.init(
            bundleID: app.bundleID, environment: environment ?? app.environment, grace: app.grace,
            since: since ?? app.since, storefronts: app.storefronts,
            takesNotifications: app.takesNotifications, delivery: app.delivery)
    }
}
