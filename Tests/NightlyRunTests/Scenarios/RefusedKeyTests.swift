import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import Testing
import Verification

/// A key that Apple refuses holds up the receipts of its app, and no others.
@Suite struct RefusedKeyTests {
    /// The night goes on with the others, and says what is to be mended.
    @Test func aRefusedKeyOfOneAppHoldsUpNoOther() async throws {
        try await withPlay(hasKey: true) { play in
            var play = play
            let own = play.settings.apps[0]
            let access = try #require(own.serverAPI)
            let other = App(
                bundleID: try #require(BundleID(Play.foreignBundleID)), environment: .production, grace: own.app.grace,
                since: nil)
            play.settings.apps.append(
                AppSettings(
                    app: other, sharedSecret: own.sharedSecret, verification: .auto,
                    serverAPI: ServerAPIAccess(issuerID: UUID().uuidString, keyID: access.keyID, key: access.key)))
            let bought = play.buy("1000000000000035")
            try await play.upload(play.receipt([bought]), for: bought)
            let theirs = SimulatedTransaction(
                id: "1000000000000036", productID: "coins.100", purchasedAt: play.began - 90_000)
            let payload = play.receipt([theirs], style: .signedTransaction, bundleID: Play.foreignBundleID)
            _ = try await play.server("SELECT iap.submit_receipt(\(Play.foreignBundleID), 'ben', \(payload)) AS answer")
            let (report, findings) = try await play.night()
            #expect(findings.caseIDs == [bought.id])
            guard case .endedEarly = report.outcome else {
                Issue.record("the night counts as done")
                return
            }
            let refused = try #require(report.toMend.first { $0.cause == .refused })
            #expect(refused.bundleID == Play.foreignBundleID && refused.detail?.contains("401") == true)
        }
    }
}
