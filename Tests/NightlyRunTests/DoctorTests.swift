import Verification
import Commands
import AppStoreSimulator
import Foundation
import Job
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
        try await withStage(customers: 170) { stage in
            var stage = stage
            #expect(await verdicts(Doctor(settings: stage.settings))["nights"] == .fine)
            let connection = try await stage.database.connect()
            defer { connection.close() }
            try await connection.execute("DELETE FROM iap.products")
            _ = try await stage.run()
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
            // The tests' server is to be fast.
            #expect(found["durability"] == .warning)
            #expect(found["address"] == .wrong)
            #expect(found["support desk"] == .wrong)
            #expect(found["privacy"] == .fine)
            #expect(found.contains { $0.key.hasPrefix("products of ") && $0.value == .warning })
            #expect(found["read-only"] == nil)
        }
    }

    /// As after the first migration, before sql/roles.sql is run.
    @Test func aRoleThatMayDoNothingYetIsToldWhatGivesItsRights() async throws {
        try await withScratchDatabase { database in
            let admin = try await database.connect()
            defer { admin.close() }
            try await admin.execute("REVOKE USAGE ON SCHEMA iap FROM iap_job")
            let settings = JobSettings(database: database.conninfo(as: "iap_job"), apps: [])
            let found = await Doctor(settings: settings).examine().first { $0.verdict == .wrong }
            #expect(found?.remedy?.contains("sql/roles.sql as an administrator") == true, "\(found?.text ?? "")")
        }
    }

    @Test func aServersExpiredCertificateIsToldApartFromAWrongAddress() async throws {
        let authority = try await CertificateAuthority.make()
        let (certificate, key) = try await authority.issue(for: "DNS:localhost", days: -1)
        let port = try FreePort.find()
        let cluster = try await ScratchCluster.dedicated(
            settings: ["listen_addresses": "127.0.0.1", "ssl": "on"], port: port,
            hba: "local all all trust\nhostssl all all 127.0.0.1/32 trust",
            files: ["server.crt": certificate, "server.key": key])
        func remedy(_ options: String) async -> String? {
            let settings = JobSettings(
                database: "host=localhost hostaddr=127.0.0.1 port=\(port) user=postgres dbname=nothing \(options)",
                apps: [])
            return await Doctor(settings: settings).examine().first { $0.name == "database" }?.remedy
        }
        try await withTemporaryFile(authority.certificate) { root in
            let told = await remedy("sslmode=verify-full sslrootcert=\(root)")
            #expect(told?.hasPrefix("Renew PostgreSQL's certificate if it has expired") == true, "\(told ?? "")")
        }
        #expect(await remedy("sslmode=require")?.hasPrefix("Check conninfo") == true)
        try await cluster.stop()
    }

    /// Everybody may lay files there, and take away only their own.
    @Test(.enabled(if: geteuid() != 0)) func aFolderOfDecisionsThatKeepsOthersFilesIsWrong() async {
        let settings = JobSettings(database: "host=/nonexistent", apps: [])
        let found = await Doctor(settings: settings, decisionsDirectory: "/tmp").examine()
            .first { $0.name == "decisions" }
        #expect(found?.verdict == .wrong && found?.text.contains("sticky") == true, "\(found?.text ?? "")")
    }

    @Test func aRunThatWentByAWrongClockIsTold() async throws {
        try await withStage(customers: 30) { stage in
            _ = try await stage.run()
            let connection = try await stage.database.connect()
            defer { connection.close() }
            try await connection.execute("DELETE FROM iap.rehearsal")
            #expect(await verdicts(Doctor(settings: stage.settings))["present"] == nil)
            try await connection.execute("UPDATE iap.runs SET as_of = now() + interval '400 days'")
            let found = await Doctor(settings: stage.settings).examine().first { $0.name == "present" }
            #expect(found?.verdict == .wrong && found?.text.hasPrefix("run 1 was as of ") == true)
        }
    }

    /// As after a migration, until sql/roles.sql is run again.
    @Test func aRoleThatLacksARightIsToldWhich() async throws {
        try await withStage(customers: 30) { stage in
            let connection = try await stage.database.connect()
            defer { connection.close() }
            try await connection.execute("REVOKE SELECT ON iap.rehearsal FROM iap_job")
            let found = await Doctor(settings: stage.settings).examine()
            let grants = try #require(found.first { $0.name == "grants" })
            #expect(grants.verdict == .wrong && grants.text.contains("SELECT on iap.rehearsal"), "\(grants.text)")
            #expect(found.first { $0.name == "database" }?.verdict == .fine)
        }
    }

    /// A primary that became a standby, or was told to take no changes: the run says so with 69, and changed nothing.
    @Test func aServerThatTakesNoChangesIsTold() async throws {
        try await withStage(customers: 30) { stage in
            let connection = try await stage.database.connect()
            defer { connection.close() }
            try await connection.execute(
                "ALTER DATABASE \(identifier: stage.database.name) SET default_transaction_read_only = on")
            var settings = stage.settings
            settings.patience = 1
            let found = await Doctor(settings: settings).examine().first { $0.name == "read-only" }
            #expect(found?.verdict == .wrong && found?.text.contains("default_transaction_read_only is on") == true)
            var readOnly = stage
            readOnly.settings = settings
            await #expect {
                _ = try await readOnly.run()
            } throws: { error in
                (error as? JobError)?.exitCode == .unavailable && "\(error)".contains("takes no changes")
            }
        }
    }

    /// As its notification brings it, which the app's server may hand on.
    @Test func noRefundIsSaidToBeMissedForEver() async throws {
        try await withPlay(.local) { play in
            let found = await Doctor(settings: play.settings).examine().first { $0.name == "app com.example.game" }
            #expect(found?.verdict == .warning)
            #expect(found?.text.contains("hands on Apple's notification") == true, "\(found?.text ?? "")")
        }
    }

    /// A byte order mark, or what is no text, is no part of what Apple hands out.
    @Test(arguments: [
        ("0123456789abcdef0123456789ABCDEF", true), ("\u{FEFF}0123456789abcdef0123456789abcdef", false),
        ("0123456789abcdef0123456789abcdeg", false), ("hunter2", false), ("\u{FFFD}\u{1}", false),
    ])
    func aSecretHasTheFormOfApples(text: String, isApples: Bool) {
        #expect(Secret(text).hasFormOfApples == isApples)
    }

    /// Apple looks at the shared secret only where a receipt has subscriptions: one is at hand after the first night.
    @Test func theSharedSecretIsProvedByAReceiptAtHand() async throws {
        try await withPlay(.verifyReceipt) { play in
            #expect(await atHand(play) == nil)
            let gems = play.buy("2000000000000001")
            try await play.upload(play.receipt([gems]), for: gems)
            _ = try await play.night()
            var found = try #require(await atHand(play))
            #expect(found.verdict == .fine && found.text.contains("doesn't prove the shared secret"), "\(found.text)")
            let monthly = play.buy("2000000000000002", "vip.monthly") {
                $0.productType = .autoRenewable
                $0.expiresAt = play.began + 86_400
            }
            let receipt = try await play.upload(play.receipt([monthly]), for: monthly)
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES ('com.example.game', 'vip.monthly', 'auto_renewable', 'VIP')
                """)
            _ = try await play.night(2)
            found = try #require(await atHand(play))
            #expect(found.verdict == .fine && found.text == "\(receipt) is verified", "\(found.text)")
            var wrong = play
            wrong.settings.apps[0].sharedSecret = Secret("00000000000000000000000000000000")
            found = try #require(await atHand(wrong))
            #expect(found.verdict == .wrong && found.text.contains("21004"), "\(found.text)")
            #expect(found.remedy == "Mend what this names, in [app com.example.game] or in [apple].")
        }
    }

    @Test func theKeyIsProvedByAReceiptAtHand() async throws {
        try await withPlay(hasKey: true) { play in
            let gems = play.buy("2000000000000001")
            let receipt = try await play.upload(play.receipt([gems]), for: gems)
            _ = try await play.night()
            let found = try #require(await atHand(play))
            #expect(found.verdict == .fine && found.text == "\(receipt) is verified", "\(found.text)")
            play.store.setOutage(true)
            #expect(await atHand(play)?.verdict == .warning)
        }
    }

    private func atHand(_ play: Play) async -> Doctor.Finding? {
        await Doctor(settings: play.settings).examine().first { $0.name == "a receipt of com.example.game" }
    }
}
