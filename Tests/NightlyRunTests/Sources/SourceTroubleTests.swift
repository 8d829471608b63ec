import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// Nights whose sources can't be read, or not to their end.
@Suite struct SourceTroubleTests {
    /// Whoever hangs in the middle of a claim of what the source tells of.
    @Test func anOpenClaimHoldsUpItsSourceAndNoNight() async throws {
        try await withShop { play, shop in
            let bought = play.buy("2000000000000001", hoursAgo: 50)
            try await play.upload(play.receipt([bought]), for: bought)
            #expect(try await play.night().findings.caseIDs == [bought.id])
            try await shop.credit(bought, at: play.began + 80_000)
            let server = try await play.database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute("BEGIN")
            _ = try await server.query(
                "SELECT iap.claim(\(Play.bundleID), \(bought.id), 'anna', NULL) AS outcome")
            let second = try await play.night(2).report
            #expect(second.outcome != .complete)
            let problem = second.sources.first { $0.name == "delivered" }?.problem ?? ""
            #expect(problem.contains("another session's lock"), "\(problem)")
            try await server.execute("ROLLBACK")
            let third = try await play.night(3).report
            #expect(third.outcome == .complete)
            #expect(try await play.count("iap.black WHERE delivered_by = 'import'") == 1)
            #expect(try await violations(play.database) == [])
        }
    }

    /// What an earlier night took is no figure of this one.
    @Test func aSourceThatWasNotReachedHasTakenNothing() async throws {
        try await withShop { play, shop in
            try await shop.order("o-1", at: play.began - 3000)
            #expect(try await play.night().report.sources[1].taken == 1)
            #expect(try await play.night(2, isDryRun: true).report.sources == [])
            var play = play
            let query = SourceQuery(
                conninfo: "host=/nowhere", text: "SELECT", watermark: nil, statementTimeout: 5)
            play.settings.sources[1].origin = .query(query)
            let orders = try await play.night(3).report.sources[1]
            #expect(orders.problem?.contains("/nowhere") == true)
            #expect(orders.taken + orders.alreadyThere + orders.refused == 0)
        }
    }

    /// Without a word of what was delivered nobody knows what is lost: what was bought since is not judged.
    @Test func aSourceOfDeliveriesThatIsDownMakesNoCases() async throws {
        try await withShop { play, shop in
            let early = play.buy("2000000000000001", hoursAgo: 50)
            try await shop.upload(play.receipt([early]), for: early, at: play.began)
            _ = try await play.night()
            let late = play.buy("2000000000000002", hoursAgo: -2)
            try await shop.upload(play.receipt([early, late]), for: late, at: play.began + 3600)
            try await shop.credit(late, at: play.began + 7500)
            try await shop.run("ALTER TABLE wallet_entries RENAME TO moved")
            let dark = try await play.night(2)
            #expect(dark.findings.cases.map(\.key.id.text) == [early.id])
            #expect(dark.report.pending == 1)
            let problem = try #require(dark.report.sources[3].problem)
            #expect(problem.contains("wallet_entries"))
            guard case .endedEarly(let why) = dark.report.outcome else {
                Issue.record("the night says that all is well")
                return
            }
            #expect(why.contains("the source delivered could not be pulled to its end"))
            #expect(dark.report.receipts.verified > 0)
            try await shop.run("ALTER TABLE moved RENAME TO wallet_entries")
            let night = try await play.night(3)
            #expect(night.findings.cases.map(\.key.id.text) == [early.id])
            #expect(night.report.outcome == .complete)
            #expect(try await play.count("iap.black WHERE transaction_id = \(late.id)") == 1)
        }
    }

    @Test(
        arguments: [
            ("SELECT pg_sleep(60)::text AS bundle_id, '' AS payload", "statement timeout"),
            ("SELECT 'a' AS bundle_id, 'b' AS payload, 1 AS colour", "no column “colour”"),
            ("SELECT 'a' AS bundle_id", "need the column payload"),
            ("SELECT 'a' AS bundle_id, 'b' AS payload, 'c' AS payload", "“payload” is there twice"),
            ("SELECT", "need the columns bundle_id, payload"),
            ("SELECT 1 FROM nowhere", "nowhere"),
            ("WITH gone AS (DELETE FROM uploads RETURNING *) SELECT * FROM gone", "WITH"),
            (
                "SELECT body AS payload, nextval('wallet_entries_entry_seq')::text AS bundle_id FROM uploads",
                "read-only"
            ),
            ("SELECT 'com.example.game' AS bundle_id, 1 / (random() * 0)::int AS payload", "22012"),
        ])
    func aSourceThatCannotBeReadIsToldOfAndTheNightGoesOn(query: String, words: String) async throws {
        try await withShop { play, shop in
            let lost = play.buy("2000000000000001", hoursAgo: 50)
            try await play.upload(play.receipt([lost]), for: lost)
            try await shop.upload("QUJD", at: play.began)
            var play = play
            var origin = SourceQuery(conninfo: shop.database.conninfo, text: query)
            origin.statementTimeout = 1
            play.settings.sources[2].origin = .query(origin)
            let night = try await play.night()
            let problem = try #require(night.report.sources[2].problem)
            #expect(problem.contains(words))
            #expect(night.report.sources[3].problem == nil)
            #expect(night.findings.cases.map(\.key.id.text) == [lost.id])
        }
    }

    @Test func aSourceThatDoesNotAnswerIsToldOf() async throws {
        try await withShop { play, _ in
            var play = play
            play.settings.sources[1].origin = .query(
                SourceQuery(conninfo: "host=127.0.0.1 port=1 dbname=shop", text: "SELECT 1"))
            let night = try await play.night()
            #expect(night.report.sources[1].problem != nil)
        }
    }

    /// A company's query may take minutes, and whoever stops the night does not wait for them.
    @Test func aStopEndsTheQueryOfASource() async throws {
        try await withShop { play, shop in
            try await shop.order("o-1", at: play.began)
            var play = play
            play.settings.sources[1].origin = .query(
                SourceQuery(
                    conninfo: shop.database.conninfo,
                    text: "SELECT 'com.example.game' AS bundle_id, order_no AS order_id, member AS user_id, "
                        + "sku AS product_id FROM orders, pg_sleep(250)", statementTimeout: 300))
            let (stop, options) = (StopSignal(), RunOptions(now: play.began + 3600))
            let job = NightlyJob(settings: play.settings, programVersion: "test", log: { _ in }, progress: { _ in })
            let night = Task {
                var findings = Collector()
                return try await job.run(options, stop: stop, findings: &findings)
            }
            try await shop.database.waitUntilSleeping()
            let asked = ContinuousClock.now
            stop.request("asked to stop")
            let report = try await night.value
            #expect(ContinuousClock.now - asked < .seconds(120))
            #expect(report.outcome == .endedEarly("asked to stop"))
            #expect(report.sources.first { $0.name == "orders" }?.problem == "it was stopped: asked to stop")
        }
    }

    @Test func aDryRunPullsNothing() async throws {
        try await withShop { play, shop in
            try await shop.order("o-1", at: play.began)
            var findings = Collector()
            _ = try await NightlyJob(
                settings: play.settings, programVersion: "test", log: { _ in }, progress: { _ in }
            ).run(RunOptions(isDryRun: true, now: play.began + 3600), stop: StopSignal(), findings: &findings)
            #expect(try await play.count("iap.orders") == 0)
            #expect(try await play.count("iap.sources") == 0)
        }
    }

    @Test func theJobsOwnRoleIsToldWhatItLacks() async throws {
        try await withShop { play, _ in
            var play = play
            play.settings.importDatabase = nil
            let error = await #expect(throws: JobError.self) { _ = try await play.night() }
            let words = String(describing: try #require(error))
            #expect(words.contains("import_conninfo"))
        }
    }
}
