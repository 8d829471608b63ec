import Verification
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// The first night of a company that only hands in what its customers uploaded: receipts that Apple really signed.
@Suite(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)")) struct FirstNightTests {
    private static let receipts = [
        "gzchatbaby": "bliap-sandbox.b64", "dev.bonzer.weeka.app": "sandbox-g5.b64",
        "com.sumiapp.GridDiary": "recorded-receipt.b64", "com.cocoanetics.EmmiView": "kvitto-sandbox.bin",
        "com.mbaasy.ios.demo": "consumable-and-subscription.b64", "com.mindnode.mindnodetouch": "no-purchases.b64",
    ]

    /// Nobody says how these apps deliver, unless told here. The receipts were made in Apple's sandbox.
    private func night(
        _ database: ScratchDatabase, _ delivery: [String: [ProductType: DeliveryMode]] = [:]
    ) async throws -> (report: RunReport, findings: Collector) {
        let apps = try Self.receipts.keys.sorted().map { name in
            AppSettings(
                app: App(
                    bundleID: try #require(BundleID(name)), environment: .sandbox, grace: Grace(3600), since: nil,
                    delivery: delivery[name] ?? [:]), verification: .local)
        }
        var findings = Collector()
        let settings = JobSettings(database: database.conninfo(as: "iap_job"), apps: apps)
        let job = NightlyJob(settings: settings, programVersion: "test", log: { _ in }, progress: { _ in })
        let report = try await job.run(RunOptions(), stop: StopSignal(), findings: &findings)
        #expect(report.totals.imbalances == [])
        return (report, findings)
    }

    private func handIn(_ server: Connection) async throws {
        for (bundleID, file) in Self.receipts {
            let data = try Fixtures.data("app-receipts/\(file)")
            let payload =
                file.hasSuffix(".bin") ? data.base64EncodedString() : String(decoding: data, as: UTF8.self)
            _ = try await server.query(
                "SELECT iap.submit_receipt(\(bundleID), \("customer of \(bundleID)"), \(payload), NULL, NULL, NULL)")
        }
    }

    @Test func nothingIsLostOfWhoIsNotConnected() async throws {
        try await withScratchDatabase { database in
            let server = try await database.connect(as: "iap_app")
            defer { server.close() }
            try await handIn(server)
            let first = try await night(database)
            #expect(first.findings.cases.isEmpty)
            #expect(first.report.receipts.verified == Self.receipts.count - 1)
            #expect(first.report.totals.newlyWhite.transactions == 18)
            #expect(first.report.unjudged.allSatisfy { $0.cause == .notConnected })
            #expect(first.report.unjudged.map(\.transactions).reduce(0, +) == 18)
            #expect(Set(first.report.unjudged.map(\.bundleID.text)).count == 5)
            #expect(first.report.unjudged.count { $0.productType == .autoRenewable } == 3)

            // One subscription's server says what it granted, and not its last period.
            _ = try await server.query(
                """
                SELECT iap.entitle(
                    'com.cocoanetics.EmmiView', '1000000156444989', 'customer of com.cocoanetics.EmmiView',
                    '2015-05-25T15:06:02Z') AS until
                """)
            let second = try await night(database, ["com.cocoanetics.EmmiView": [.autoRenewable: .entitlement]])
            #expect(second.findings.caseIDs == ["1000000156578120"])
            #expect(second.findings.cases.first?.assessment.likelihood == .medium)
            #expect(second.findings.cases.first?.assessment.owner == .user("customer of com.cocoanetics.EmmiView"))
            #expect(second.report.unjudged.allSatisfy { $0.bundleID.text != "com.cocoanetics.EmmiView" })
            #expect(try await violations(database) == [])
        }
    }
}
