import AppStoreSimulator
import Foundation
import NightlyRun
import Reconciliation
import Testing

/// A setting that was wrong for a night costs nobody a purchase.
@Suite struct MendedSettingsTests {
    @Test func whatAWrongStartExcludedIsFoundOnceItIsMended() async throws {
        let undisturbed = try await undisturbedLedger()
        try await withStage { stage in
            let wrong = try await stage.with { App($0, since: Stage.now) }.run()
            #expect(wrong.findings.caseIDs == [])
            let (report, findings) = try await stage.run()
            #expect(report.totals.imbalances == [])
            #expect(findings.caseIDs == stage.lost)
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

    /// What the wrong environment took for owed goes with the next night's verification.
    @Test func whatAWrongEnvironmentExcludedIsFoundOnceItIsMended() async throws {
        try await withStage { stage in
            let wrong = try await stage.with { App($0, environment: .sandbox) }.run()
            #expect(wrong.findings.caseIDs.isDisjoint(with: stage.lost))
            let (report, findings) = try await stage.run()
            #expect(report.totals.imbalances == [])
            #expect(findings.caseIDs == stage.lost.union(wrong.findings.caseIDs))
        }
    }

    /// A start that was moved by two days lets through what lies between, and the rest stays excluded.
    @Test func onlyWhatTheNewStartLetsThroughIsVerifiedAgain() async throws {
        try await withStage { stage in
            let (late, early) = (Stage.now - 86_400, Stage.now - 3 * 86_400)
            _ = try await stage.with { App($0, since: late) }.run()
            let mended = stage.with { App($0, since: early) }
            let (report, findings) = try await mended.run()
            #expect(report.receipts.due > 0)
            let lost = Set(
                stage.truth.lost.filter { $0.purchasedAt >= early }.map(\.transactionID))
            #expect(findings.caseIDs == lost)
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
            bundleID: app.bundleID, environment: environment ?? app.environment, grace: app.grace, since: since,
            storefronts: app.storefronts, takesNotifications: app.takesNotifications)
    }
}
