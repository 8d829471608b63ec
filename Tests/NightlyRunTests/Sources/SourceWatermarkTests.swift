import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// From where a night reads on in a source.
@Suite struct SourceWatermarkTests {
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

    /// A run by a clock that was years ahead, and killed before it closed its books: operate.md says how to go on. What
    /// was delivered before the first right night lies far behind what that run remembered.
    @Test(arguments: ["timestamptz", "timestamp"]) func aMarkOfAWrongClockHidesNothing(type: String) async throws {
        try await withShop { play, shop in
            try await shop.run(
                "ALTER TABLE subscriptions ALTER changed TYPE \(unsafe: type) USING changed AT TIME ZONE 'UTC'")
            try await shop.extend("77", until: play.began, at: play.began - 40_000)
            _ = try await play.night()
            try await play.administer(
                "UPDATE iap.sources SET watermark = '2040-01-01', pulled_at = '2040-01-01Z' WHERE source = 'entitlements'"
            )
            try await shop.extend("78", until: play.began, at: play.began - 20_000)
            #expect(try await play.night(2).report.sources[4].taken == 1)
            #expect(try await play.count("iap.sources WHERE watermark >= '2040' OR pulled_at >= '2040-01-01'") == 0)
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

    /// Its watermark can't be compared with what was remembered of another type.
    @Test func aWatermarkOfAnotherTypeIsReadFromItsBeginning() async throws {
        try await withShop { play, shop in
            try await shop.extend("77", until: play.began, at: play.began - 40_000)
            #expect(try await play.night().report.sources[4].taken == 1)
            try await shop.run(
                "ALTER TABLE subscriptions ALTER changed TYPE bigint USING extract(epoch FROM changed)::bigint")
            try await shop.run("INSERT INTO subscriptions VALUES ('78', 'anna', \(play.began), NULL, 7)")
            let altered = try await play.night(2).report.sources[4]
            #expect(altered.problem == nil)
            #expect(altered.taken == 1)
            #expect(try await play.count("iap.entitlements") == 2)
        }
    }

    /// Refused for its type, and mended as the message says: it lies behind the watermark.
    @Test func aColumnOfAnotherTypeIsReadFromItsBeginning() async throws {
        try await withShop { play, shop in
            try await shop.run(
                "ALTER TABLE subscriptions ALTER expires_at TYPE timestamp USING expires_at AT TIME ZONE 'UTC'")
            try await shop.extend("77", until: play.began, at: play.began - 40_000)
            try await shop.extend("78", until: play.began, at: play.began - 3000)
            #expect(try await play.night().report.sources[4].refused == 2)
            try await shop.run(
                "ALTER TABLE subscriptions ALTER expires_at TYPE timestamptz USING expires_at AT TIME ZONE 'UTC'")
            let mended = try await play.night(2).report.sources[4]
            #expect(mended.taken == 2)
            #expect(mended.refusedRows.isEmpty)
        }
    }

    /// What it told before lies behind the watermark, and would look lost.
    @Test func whatAnUnknownAppToldIsReadOnceItHasItsSection() async throws {
        try await withShop { play, shop in
            try await shop.order("o-1", by: "com.example.other", at: play.began - 1_000_000)
            try await shop.order("o-2", by: "com.example.game", at: play.began)
            var play = play
            play.settings.sources[1] = shop.source(
                .orders,
                "SELECT member AS bundle_id, order_no AS order_id, 'anna' AS user_id, sku AS product_id, changed "
                    + "FROM orders", "changed")
            let unknown = try await play.night().report.sources[1]
            #expect(unknown.taken == 1)
            #expect(unknown.refusedRows.map(\.id) == ["com.example.other"])
            try play.addForeignApp()
            let known = try await play.night(2).report.sources[1]
            #expect(known.taken == 1)
            #expect(known.refusedRows.isEmpty)
        }
    }
}
