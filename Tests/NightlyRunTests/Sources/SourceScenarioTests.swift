import Verification
import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// Nights of a company that is connected by what it has already.
@Suite struct SourceScenarioTests {
    /// What a night found, as a reader of the report would compare it.
    private func found(_ findings: Collector) -> [String] {
        findings.cases.map { found in
            let owners = found.assessment.owner.candidates.joined(separator: "+")
            return "\(found.key.id) \(found.assessment.likelihood) \(owners) \(found.orderIDs.joined(separator: "+"))"
        }.sorted()
    }

    @Test func theSameIsFoundAsWithTheFunctions() async throws {
        try await withShop { play, shop in
            let lost = play.buy("2000000000000001", hoursAgo: 50)
            let served = play.buy("2000000000000002", hoursAgo: 40)
            let other = play.buy("2000000000000003", account: "bo", hoursAgo: 30)
            let period = play.buy("2000000000000004", "vip", account: "bo", hoursAgo: 20) {
                $0.productType = .autoRenewable
                $0.expiresAt = play.began + 700 * 3600
            }
            let (mine, others) = (play.receipt([lost, served]), play.receipt([other, period], account: "bo"))
            let products: SQL = """
                INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
                VALUES
                    (\(Play.bundleID), 'gems.60', 'consumable', 'gems.60', 990, 'USD'),
                    (\(Play.bundleID), 'vip', 'auto_renewable', 'vip', 990, 'USD')
                """

            let byFunctions = try await withScratchDatabase { database in
                var plain = Play(
                    database: database, store: play.store, appStoreConnect: play.appStoreConnect,
                    settings: play.settings)
                plain.settings.sources = []
                plain.settings.database = database.conninfo(as: "iap_job")
                try await plain.administer(products)
                try await plain.order("o-1", hoursAgo: 50.1)
                try await plain.upload(mine, for: lost, order: "o-1")
                try await plain.upload(others, by: "bo", for: other)
                _ = try await plain.night()
                try await plain.claim(served)
                return found(try await plain.night(2).findings)
            }

            try await shop.sell("vip", "auto_renewable")
            try await shop.order("o-1", at: play.began - 50.1 * 3600)
            try await shop.upload(mine, for: lost, order: "o-1", at: play.began)
            try await shop.upload(others, by: "bo", for: other, at: play.began)
            _ = try await play.night()
            try await shop.credit(served, at: play.began + 3600)
            let night = try await play.night(2)
            #expect(found(night.findings) == byFunctions)
            #expect(byFunctions.count == 3)
            #expect(night.report.outcome == .complete)
            #expect(try await play.count("iap.black WHERE transaction_id = \(served.id)") == 1)
            #expect(try await violations(play.database) == [])

            // The period is granted, and the order credited: nothing is left of what was told of.
            try await shop.extend(period.id, of: "bo", until: period.expiresAt, at: play.began + 80_000)
            try await shop.credit(lost, at: play.began + 80_000)
            try await shop.credit(other, to: "bo", at: play.began + 80_000)
            #expect(try await play.night(3).findings.cases.isEmpty)
            #expect(try await violations(play.database) == [])
        }
    }

    @Test func theSameRowsAgainChangeNothing() async throws {
        try await withShop { play, shop in
            let bought = play.buy("2000000000000001", hoursAgo: 50)
            try await shop.order("o-1", at: play.began - 100_000)
            try await shop.upload(play.receipt([bought]), for: bought, at: play.began - 3000)
            try await shop.credit(bought, at: play.began - 3000)
            try await shop.extend("77", until: play.began + 9000, at: play.began - 3000)
            let first = try await play.night()
            #expect(
                first.report.sources.map(\.name) == ["products", "orders", "receipts", "delivered", "entitlements"])
            #expect(first.report.sources.map(\.taken) == [1, 1, 1, 1, 1])
            let before = try await [play.count("iap.moves"), play.count("iap.uploads"), play.count("iap.transactions")]
            let second = try await play.night(2)
            #expect(second.report.sources.map(\.taken) == [0, 0, 0, 0, 0])
            #expect(
                try await [
                    play.count("iap.moves"), play.count("iap.uploads"), play.count("iap.transactions"),
                ] == before)
            #expect(try await violations(play.database) == [])
        }
    }

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

    /// What was not committed yet when a later row was read.
    @Test func whatComesBehindTheWatermarkIsReadAllTheSame() async throws {
        try await withShop { play, shop in
            try await shop.order("o-2", at: play.began)
            _ = try await play.night()
            try await shop.order("o-1", at: play.began - 3000)
            try await shop.order("o-0", at: play.began - 8000)
            #expect(try await play.night(2).report.sources[1].taken == 1)
            #expect(try await play.count("iap.orders") == 2)
        }
    }

    /// One row with a wrong clock must not hide those of all later nights; nor one without any.
    @Test func aWatermarkInTheFutureOrNoneHidesNothing() async throws {
        try await withShop { play, shop in
            let far = Date(timeIntervalSince1970: 4_000_000_000)
            try await shop.extend("77", until: play.began, at: far)
            try await shop.run("ALTER TABLE subscriptions ALTER changed DROP NOT NULL")
            try await shop.run("INSERT INTO subscriptions VALUES ('78', 'anna', \(far), NULL, NULL)")
            _ = try await play.night()
            try await shop.extend("79", until: play.began, at: play.began + 40_000)
            #expect(try await play.night(2).report.sources[4].taken == 1)
            #expect(try await play.count("iap.entitlements") == 3)
        }
    }

    /// A time without its zone may be any zone's.
    @Test(arguments: [30.0 * 24, 5]) func aTimeWithoutZoneInTheFutureHidesNothing(hours: Double) async throws {
        try await withShop { play, shop in
            try await shop.run(
                "ALTER TABLE subscriptions ALTER changed TYPE timestamp USING changed AT TIME ZONE 'UTC'")
            try await shop.extend("77", until: play.began, at: play.began + hours * 3600)
            _ = try await play.night()
            try await shop.extend("78", until: play.began, at: play.began + 2 * 3600)
            #expect(try await play.night(2).report.sources[4].taken == 1)
            #expect(try await play.count("iap.entitlements") == 2)
        }
    }

    /// One row that somebody numbered by hand must not hide the deliveries of all later nights.
    @Test func aNumberFarTooHighHidesNothing() async throws {
        try await withShop { play, shop in
            let stray = play.buy("2000000000000001", hoursAgo: 50)
            try await shop.run(
                """
                INSERT INTO wallet_entries (apple_id, member, sku, bought, credited)
                SELECT '3' || number, 'anna', 'gems.60', \(play.began) - interval '2 days', \(play.began)
                FROM generate_series(1, 1200) AS number
                """)
            try await shop.run(
                """
                INSERT INTO wallet_entries (entry, apple_id, member, sku, bought, credited)
                OVERRIDING SYSTEM VALUE VALUES (
                    9000000000000000000, \(stray.id), 'anna', 'gems.60', \(stray.purchasedAt), \(play.began))
                """)
            _ = try await play.night()
            #expect(try await play.count("iap.sources WHERE watermark::bigint <= 1200 AND kind = 'delivered'") == 1)
            try await shop.credit(play.buy("2000000000000002", hoursAgo: 50), at: play.began + 3600)
            #expect(try await play.night(2).report.sources[3].taken == 1)
        }
    }

    /// A watermark that lies beyond all that is there must not hide what comes anew.
    @Test func aTableThatWasRestoredIsReadFromItsBeginning() async throws {
        try await withShop { play, shop in
            let first = play.buy("2000000000000001", hoursAgo: 50)
            let second = play.buy("2000000000000002", hoursAgo: 50)
            try await shop.run("ALTER TABLE wallet_entries ALTER entry RESTART WITH 500000")
            try await shop.credit(first, at: play.began)
            _ = try await play.night()
            try await shop.run("TRUNCATE wallet_entries RESTART IDENTITY")
            try await shop.run("ALTER TABLE wallet_entries ALTER entry RESTART WITH 1")
            #expect(try await play.night(2).report.sources[3].problem == nil)
            try await shop.credit(second, at: play.began + 3600)
            #expect(try await play.night(3).report.sources[3].taken == 1)
            #expect(try await play.count("iap.black") == 2)
        }
    }

    @Test func whatWasGrantedIsShortenedByAWordOfItsOwn() async throws {
        try await withShop { play, shop in
            let period = play.buy("2000000000000004", "vip", hoursAgo: 20) {
                $0.productType = .autoRenewable
                $0.expiresAt = play.began + 700 * 3600
            }
            try await shop.sell("vip", "auto_renewable")
            try await shop.upload(play.receipt([period]), for: period, at: play.began)
            try await shop.extend(period.id, until: period.expiresAt, at: play.began)
            #expect(try await play.night().findings.cases.isEmpty)
            // A row that says less is an old one.
            try await shop.extend(period.id, until: play.began, at: play.began + 1)
            #expect(try await play.night(2).findings.cases.isEmpty)
            try await shop.run(
                "UPDATE subscriptions SET ended = \(play.began + 50_000), changed = \(play.began + 50_000)")
            #expect(try await play.night(3).findings.cases.map(\.key.id.text) == [period.id])
            let moves = try await play.count("iap.moves")
            #expect(try await play.night(4).findings.cases.map(\.key.id.text) == [period.id])
            #expect(try await play.count("iap.moves") == moves)
            #expect(try await violations(play.database) == [])
        }
    }

    // What goes wrong ---------------------------------------------------------------------------------------------

    @Test func refusedRowsAreListedUntilTheyAreMended() async throws {
        try await withShop { play, shop in
            let bought = play.buy("2000000000000001", hoursAgo: 50)
            try await shop.upload(play.receipt([bought]), for: bought, at: play.began)
            try await shop.run(
                """
                INSERT INTO wallet_entries (apple_id, member, sku, bought, credited)
                VALUES (\(bought.id), 'anna', NULL, \(bought.purchasedAt), \(play.began))
                """)
            try await shop.run(
                "INSERT INTO wallet_entries (member, sku, credited) VALUES ('bo', 'gems.60', \(play.began))")
            let night = try await play.night()
            let source = night.report.sources[3]
            #expect(source.refused == 2 && source.taken == 0 && source.problem == nil)
            #expect(source.refusedRows.map(\.id).sorted() == [bought.id, "row 2 of the pull"])
            #expect(source.refusedRows.map(\.reason) == ["missing", "missing"])
            #expect(night.report.outcome == .complete)
            try await shop.run("UPDATE wallet_entries SET sku = 'gems.60' WHERE apple_id = \(bought.id)")
            let mended = try await play.night(2).report.sources[3]
            #expect(mended.refusedRows.map(\.id) == ["row 2 of the pull"])
            #expect(try await play.count("iap.black") == 1)
        }
    }

    /// The shop delivered it, though the row that says so can't be read: nobody may deliver it again by himself.
    @Test func whatARefusedRowTellsOfIsNotRedelivered() async throws {
        try await withShop { play, shop in
            var play = play
            play.settings.apps[0].app.redelivery = .high
            let told = play.buy("2000000000000001")
            let lost = play.buy("2000000000000002")
            for bought in [told, lost] { try await shop.upload(play.receipt([bought]), for: bought, at: play.began) }
            try await shop.credit(play.buy("2000000000000003"), at: play.began)
            try await shop.run(
                """
                INSERT INTO wallet_entries (apple_id, member, sku, bought, credited)
                VALUES (\(told.id), 'anna', 'gems.60', NULL, \(play.began))
                """)
            _ = try await play.night()
            for day in [2, 40] {
                _ = try await play.night(day)
                #expect(try await play.count("iap.redeliveries") == 1)
                #expect(try await play.count("iap.redeliveries WHERE transaction_id = \(lost.id)") == 1)
            }
        }
    }

    /// A replica that stands still tells of no delivery, as an outage does: what it keeps back must not be delivered again.
    @Test func nothingIsRedeliveredWhileASourceMayStandStill() async throws {
        try await withShop { play, shop in
            var play = play
            play.settings.apps[0].app.redelivery = .high
            var bought: [SimulatedTransaction] = []
            for number in 10..<32 {
                let member = "member-\(number)"
                let one = play.buy("20000000000000\(number)", account: member, hoursAgo: 300 - Double(number))
                try await shop.upload(play.receipt([one], account: member), by: member, for: one, at: play.began)
                bought.append(one)
            }
            func credit(_ some: ArraySlice<SimulatedTransaction>, at moment: Date) async throws {
                for one in some {
                    try await shop.credit(one, to: "member-\(one.id.suffix(2))", at: moment)
                }
            }
            try await credit(bought[..<12], at: play.began - 3600)
            _ = try await play.night()
            let second = try await play.night(2).findings.cases
            #expect(second.filter { $0.assessment.likelihood == .high && $0.assessment.action == .deliver }.count == 10)
            #expect(try await play.count("iap.redeliveries") == 0)
            // It goes on, and tells of all but one.
            try await credit(bought[13...], at: play.began + 100_000)
            #expect(try await play.night(3).findings.caseIDs == [bought[12].id])
            #expect(try await play.count("iap.redeliveries WHERE transaction_id = \(bought[12].id)") == 1)
            #expect(try await play.count("iap.redeliveries") == 1)
        }
    }

    /// What a customer's client posted as an id: one character of thousands of bytes, which no index holds.
    @Test func anIdThatNoIndexHoldsIsRefusedAndStopsNothing() async throws {
        try await withShop { play, shop in
            var (marks, seed) = ("e", UInt32(1))
            for _ in 0..<4000 {
                seed = seed &* 1_664_525 &+ 1_013_904_223
                marks.unicodeScalars.append(try #require(Unicode.Scalar(0x300 + seed >> 8 % 0x70)))
            }
            let bought = play.buy("2000000000000001", hoursAgo: 50)
            try await shop.run(
                "INSERT INTO uploads VALUES ('eve', 'a receipt', NULL, \(marks), \(play.began - 3000))")
            try await shop.upload(play.receipt([bought]), for: bought, at: play.began)
            let night = try await play.night()
            let source = night.report.sources[2]
            #expect(source.refused == 1 && source.taken == 1 && source.problem == nil)
            #expect(source.refusedRows.map(\.reason) == ["bad_value"])
            #expect(night.report.outcome == .complete)
            #expect(night.findings.cases.map(\.key.id.text) == [bought.id])
        }
    }

    @Test func whatASourceLiesAboutIsRefused() async throws {
        try await withShop { play, shop in
            let bought = play.buy("2000000000000001", hoursAgo: 50)
            try await shop.upload(play.receipt([bought]), for: bought, at: play.began)
            _ = try await play.night()
            try await shop.run(
                """
                INSERT INTO wallet_entries (apple_id, member, sku, bought, credited, app)
                VALUES
                    (\(bought.id), 'eve', 'gems.60', \(play.began), \(play.began), 'com.example.other'),
                    (\(bought.id), 'eve', 'gems.60', \(play.began), '2090-01-01', 'com.example.game'),
                    ('5', 'eve', 'gems.60', \(play.began), \(play.began), 'com.unknown')
                """)
            var play = play
            play.settings.apps.append(
                AppSettings(
                    app: App(
                        bundleID: try #require(BundleID("com.example.other")), environment: .production,
                        grace: Grace(3600), since: nil)))
            let night = try await play.night(2)
            let rows = night.report.sources[3].refusedRows.sorted { ($0.id, $0.text) < ($1.id, $1.text) }
            #expect(rows.map(\.id) == [bought.id, "com.unknown"])
            #expect(rows.map(\.reason).contains("unknown_app"))
            #expect(night.report.sources[3].refused == 3)
            #expect(try await play.count("iap.black") == 0)
            #expect(night.findings.cases.map(\.key.id.text) == [bought.id])
            #expect(try await violations(play.database) == [])
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

    @Test(arguments: [("member", "neither a time nor a whole number"), ("hour", "gives no column “hour”")])
    func aWatermarkThatIsNoneIsToldOf(column: String, words: String) async throws {
        try await withShop { play, shop in
            var play = play
            play.settings.sources[2] = shop.source(
                .receipts, "SELECT member, 'a' AS bundle_id, body AS payload FROM uploads", column)
            let problem = try #require(try await play.night().report.sources[2].problem)
            #expect(problem.contains(words))
        }
    }

    /// A query that was wrong is read from its beginning once it is mended.
    @Test func anotherQueryIsReadFromItsBeginning() async throws {
        try await withShop { play, shop in
            try await shop.order("o-1", at: play.began - 1_000_000)
            try await shop.order("o-2", sku: "vip", at: play.began)
            var play = play
            let whole = play.settings.sources[1]
            play.settings.sources[1] = shop.source(
                .orders,
                "SELECT 'com.example.game' AS bundle_id, order_no AS order_id, member AS user_id, sku AS product_id, "
                    + "changed FROM orders WHERE sku = 'vip'", "changed")
            #expect(try await play.night().report.sources[1].taken == 1)
            play.settings.sources[1] = whole
            #expect(try await play.night(2).report.sources[1].taken == 1)
            #expect(try await play.count("iap.orders") == 2)
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
