import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

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

    /// As an AppTransaction does, which is the same for each purchase.
    @Test func aReceiptThatComesAgainForAnotherPurchaseIsLookedAtAgain() async throws {
        try await withShop { play, shop in
            let (first, other) = (
                play.buy("2000000000000001", hoursAgo: 50), play.buy("2000000000000002", hoursAgo: 1)
            )
            let payload = play.receipt([first])
            try await shop.upload(payload, for: first, at: play.began)
            try await shop.credit(first, at: play.began)
            _ = try await play.night()
            let settled: SQL = "iap.receipts WHERE state = 'settled' AND uploaded_again_at IS NULL"
            #expect(try await play.count(settled) == 1)
            // The same again, as of an hour that is read twice, is no news.
            _ = try await play.night(2)
            #expect(try await play.count(settled) == 1)
            // However long ago it was, and its payload purged.
            try await play.administer("UPDATE iap.receipts SET payload = NULL, payload_purged_at = now()")
            try await shop.upload(payload, for: other, at: play.began + 30 * 3600)
            _ = try await play.night(3)
            let lacking: SQL = """
                iap.receipts WHERE state = 'watched' AND error_code = 'transaction_missing' AND payload IS NOT NULL
                """
            #expect(try await play.count(lacking) == 1)
            #expect(try await violations(play.database) == [])
        }
    }

    /// As an AppTransaction of before the first purchase does, after it.
    @Test func aReceiptThatCouldNotBeUsedIsTriedAgainWhenItComesAWeekLater() async throws {
        try await withShop { play, shop in
            for body in ["no receipt", "nor this one"] { try await shop.upload(body, at: play.began) }
            let unusable: SQL = "iap.receipts WHERE state = 'unusable' AND uploaded_again_at IS NULL"
            for night in 1...3 { _ = try await play.night(night) }
            #expect(try await play.count(unusable) == 2)
            try await shop.upload("no receipt", at: play.began + 8 * 86_400)
            try await shop.upload("nor this one", at: play.began + 6 * 86_400)
            _ = try await play.night(9)
            #expect(try await play.count(unusable) == 1)
            #expect(try await play.count("iap.receipts WHERE uploaded_again_at = last_attempt_at") == 1)
            // What is read once more is no upload of its own.
            _ = try await play.night(10)
            let before: SQL = "iap.receipts WHERE uploaded_again_at < (SELECT max(as_of) FROM iap.runs)"
            #expect(try await play.count(before) == 1)
            #expect(try await violations(play.database) == [])
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

    /// Another user was logged in when the callback came, and the company's own table says who got the goods.
    @Test func s11BWasCreditedForTheOrderOfA() async throws {
        try await withShop { play, shop in
            let bought = play.buy("2000000000000001", hoursAgo: 50)
            try await shop.order("o-1", at: play.began - 50.1 * 3600)
            try await shop.upload(play.receipt([bought]), for: bought, order: "o-1", at: play.began)
            try await shop.credit(bought, to: "bo", at: play.began)
            let findings = try await play.night().findings
            #expect(findings.cases.isEmpty)
            #expect(findings.suspicions.map(\.kind) == [.misdelivery])
            #expect(findings.suspicions.first?.userIDs == ["anna", "bo"])
            #expect(try await play.count("finance.misdeliveries WHERE evidence = 'order'") == 1)
        }
    }

    /// However a company keeps it.
    @Test func aReceiptThatIsKeptAsBytesIsTheOneInBase64() async throws {
        try await withShop { play, shop in
            let bought = play.buy("2000000000000001", hoursAgo: 50)
            try await shop.upload(play.receipt([bought]), for: bought, at: play.began)
            #expect(try await play.night().report.sources[2].taken == 1)
            try await shop.run("ALTER TABLE uploads ALTER body TYPE bytea USING decode(body, 'base64')")
            let again = try await play.night(2).report.sources[2]
            #expect(again.taken == 0 && again.alreadyThere == 1 && again.refused == 0)
            #expect(try await play.count("iap.receipts") == 1)
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
            #expect(source.refusedRows.map(\.reason) == [.missing, .missing])
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

    /// Between a pull and a redelivery the company's own path may deliver: nothing can keep the server from doing it
    /// again but a look into its own table, and the next pull tells of it.
    @Test func whatTheShopDeliveredBeforeItsRedeliveryIsListed() async throws {
        try await withShop { play, shop in
            var play = play
            play.settings.apps[0].app.redelivery = .high
            let (twice, once) = (play.buy("2000000000000001"), play.buy("2000000000000002", account: "bo"))
            try await shop.upload(play.receipt([twice]), for: twice, at: play.began)
            try await shop.upload(play.receipt([once], account: "bo"), by: "bo", for: once, at: play.began)
            try await shop.credit(play.buy("2000000000000003"), at: play.began - 7200)
            _ = try await play.night()
            _ = try await play.night(2)
            #expect(try await play.count("iap.redeliveries") == 2)

            try await shop.credit(twice, at: play.began - 3600)
            let taken = try await play.server(
                "SELECT count(*) AS answer FROM iap.take_redeliveries(\(Play.bundleID), 100)")
            #expect(try taken.decode("answer", as: Int64.self) == 2)
            #expect(try await play.claim(twice) == "delivered")
            #expect(try await play.claim(once, for: "bo") == "delivered")
            try await shop.credit(once, to: "bo", at: play.began + 3600)

            let source = try await play.night(3).report.sources[3]
            #expect(source.refusedRows.map(\.id) == [twice.id])
            #expect(source.refusedRows.first?.text.hasSuffix("the user may have it twice") == true)
            #expect(source.problem == nil && source.refused == 1)
            #expect(try await violations(play.database) == [])
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
            #expect(source.refusedRows.map(\.reason) == [.badValue])
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
            try play.addForeignApp()
            let night = try await play.night(2)
            let rows = night.report.sources[3].refusedRows.sorted { ($0.id, $0.text) < ($1.id, $1.text) }
            #expect(rows.map(\.id) == [bought.id, "com.unknown"])
            #expect(rows.map(\.reason).contains(.unknownApp))
            #expect(night.report.sources[3].refused == 3)
            #expect(try await play.count("iap.black") == 0)
            #expect(night.findings.cases.map(\.key.id.text) == [bought.id])
            #expect(try await violations(play.database) == [])
        }
    }
}
