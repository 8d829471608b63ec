import Foundation
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// What `doctor` sees before a night does.
@Suite struct DoctorTests {
    private func verdicts(_ doctor: Doctor) async -> [String: Doctor.Finding.Verdict] {
        Dictionary(await doctor.examine().map { ($0.name, $0.verdict) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func whatKeepsPurchasesFromBeingLookedAtIsWrong() async throws {
        try await withStage(customers: 120) { stage in
            var stage = stage
            #expect(await verdicts(Doctor(settings: stage.settings))["nights"] == .fine)
            _ = try await stage.run()
            let connection = try await stage.database.connect()
            defer { connection.close() }
            try await connection.execute("DELETE FROM iap.products")
            try await connection.execute("UPDATE iap.runs SET finished_at = finished_at - interval '2 days'")
            stage.settings.apps.removeAll { $0.app.bundleID.text == "com.example.game" }
            stage.settings.apple.serverAPIProduction = "http://api.example.com"
            let found = await verdicts(
                Doctor(
                    settings: stage.settings, supportDatabase: stage.database.conninfo(as: "iap_finance"),
                    privacyDatabase: stage.database.conninfo(as: "iap_privacy")))
            #expect(found["receipts of com.example.game"] == .wrong)
            #expect(found["nights"] == .warning)
            #expect(found["rehearsal"] == .warning)
            #expect(found["address"] == .wrong)
            #expect(found["support desk"] == .wrong)
            #expect(found["privacy"] == .fine)
            #expect(found.contains { $0.key.hasPrefix("products of ") && $0.value == .warning })
            #expect(found["read-only"] == nil)
        }
    }

    /// A primary that became a standby, or was told to take no changes: the run says so with 69, and changed nothing.
    @Test func aServerThatTakesNoChangesIsTold() async throws {
        try await withStage(customers: 20) { stage in
            let connection = try await stage.database.connect()
            defer { connection.close() }
            try await connection.execute(
                "ALTER DATABASE \(identifier: stage.database.name) SET default_transaction_read_only = on")
            var settings = stage.settings
            settings.patience = 1
            #expect(await verdicts(Doctor(settings: settings))["read-only"] == .wrong)
            var readOnly = stage
            readOnly.settings = settings
            await #expect {
                _ = try await readOnly.run()
            } throws: { error in
                (error as? JobError)?.exitCode == 69 && "\(error)".contains("takes no changes")
            }
        }
    }
}
