import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import Testing
import Verification

/// A dry run says what the night would say, and leaves no trace.
@Suite struct DryRunTests {
    /// A dry run judges the ledger as it is, also what its server has done with it since the last night.
    @Test func aDryRunHoldsOnALedgerThatWasClaimedFrom() async throws {
        try await withPlay { play in
            let early = play.buy("2000000000000001", hoursAgo: 90)
            let late = play.buy("2000000000000002", hoursAgo: 80)
            try await play.upload(play.receipt([early, late]), for: late)
            _ = try await play.night()
            #expect(try await play.claim(early) == "delivered")
            let next = play.buy("2000000000000003", hoursAgo: 2)
            try await play.admit(next)
            #expect(try await play.claim(next) == "delivered")
            let dry = try await play.night(2, isDryRun: true)
            #expect(dry.findings.cases.map(\.key.id.text) == [late.id])
            #expect(dry.report.totals.claimed.transactions == 2)
        }
    }

    @Test func leavesNoTraceOfADryRunThatReportsTheSame() async throws {
        try await withStage { stage in
            // A dry run goes by what was pulled from the sources before.
            _ = try await stage.run(RunOptions(limit: 0, now: Stage.now))
            let tables = [
                "iap.receipts", "iap.transactions", "iap.moves", "iap.sightings", "iap.cases", "iap.runs", "iap.events",
                "iap.books", "audit.links", "audit.frontier",
            ]
            var before: [String: [String]] = [:]
            for table in tables { before[table] = try await stage.rows(of: table) }
            let dry = try await stage.run(RunOptions(isDryRun: true, now: Stage.now))
            for table in tables {
                let after = try await stage.rows(of: table)
                #expect(after == before[table], "\(table) changed")
            }
            #expect(dry.report.isDryRun)
            // Two workers may hold up each other, and then try a receipt again, whose transactions count again.
            var alone = stage
            alone.settings.connections = 1
            let real = try await alone.run()
            #expect(dry.findings.cases.map(\.key) == real.findings.cases.map(\.key))
            #expect(dry.findings.unusable.map(\.receiptID) == real.findings.unusable.map(\.receiptID))
            #expect(dry.report.totals == real.report.totals)
        }
    }

    /// What a night says of cases hangs on what was delivered long before, of which a dry run holds no copy.
    @Test func saysTheSameBesideWhatWasDeliveredInEarlierNights() async throws {
        try await withPlay { play in
            var play = play
            let app = play.settings.apps[0].app
            play.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: app.environment, grace: app.grace, since: nil,
                delivery: [.consumable: .claim, .nonConsumable: .claim, .autoRenewable: .entitlement])
            play.settings.apps[0].app.thresholds.shareLost = 1
            play.settings.connections = 1
            try await live(play)
            #expect(try await play.night().findings.cases.count == 2)
            try await liveOn(play)
            let dry = try await play.night(2, isDryRun: true)
            let real = try await play.night(2)
            #expect(comparable(dry.findings.cases) == comparable(real.findings.cases))
            #expect(dry.findings.suspicions == real.findings.suspicions)
            #expect(dry.findings.unusable == real.findings.unusable)
            #expect(dry.findings.unverified == real.findings.unverified)
            #expect(dry.report.totals == real.report.totals)
            #expect(dry.report.receipts == real.report.receipts)
            #expect(dry.report.watched == real.report.watched)
            #expect(dry.report.unjudged == real.report.unjudged)
            // All of it hung on something delivered or excluded in the first night.
            let candidates = real.findings.cases.flatMap(\.assessment.candidates)
            #expect(candidates.contains { $0.evidence.contains(.companion) })
            #expect(real.findings.cases.contains { ($0.subscription?.paidUntil ?? play.began) > play.began })
            #expect(Set(real.findings.suspicions.map(\.kind)) == [.foreignBundle, .manyUsers])
            #expect(real.report.totals.excluded.transactions == 1)
            #expect(real.report.receipts.tryAgain == 0)
        }
    }

    /// What the night would have opened, opened again and told of.
    @Test func countsTheCasesThatTheNightWouldTellOf() async throws {
        try await withPlay { play in
            let bought = (1...5).map { play.buy("100000000000020\($0)") }
            for one in bought[..<4] { try await play.upload(play.receipt([one]), for: one) }
            _ = try await play.night()
            #expect(try await play.claim(bought[0]) == "delivered")
            for one in bought[1...2] {
                try await play.administer("SELECT iap.resolve(\(one.id), 'dismissed', 'sue', 'no answer')")
            }
            _ = try await play.night(2)
            try await play.administer("SELECT iap.reopen(\(bought[1].id), 'sue', 'they did')")
            #expect(try await play.claim(bought[3]) == "delivered")
            try await play.upload(play.receipt([bought[4]]), for: bought[4])
            let dry = try await play.night(3, isDryRun: true).report.cases
            let real = try await play.night(3).report.cases
            #expect(dry == real)
            #expect((real.new, real.reopened, real.closed) == (1, 1, [.delivered: 1]))
        }
    }

    /// Neither the outage of an app that delivers this very night, nor is what it delivers forgotten.
    @Test func knowsWhatIsDeliveredInTheSameNight() async throws {
        try await withPlay { play in
            var play = play
            let app = play.settings.apps[0].app
            play.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: app.environment, grace: app.grace, since: nil,
                delivery: [.consumable: .claim, .autoRenewable: .entitlement])
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES
                    ('com.example.game', 'vip', 'auto_renewable', 'VIP'),
                    ('com.example.game', 'gems.60', 'consumable', '60 gems')
                """)
            try await deliver(play.buy("1000000000000300", hoursAgo: 90), play)
            for number in 1...12 {
                let one = play.buy("10000000000003\(number + 10)", account: "user-\(number)", hoursAgo: 60)
                try await play.upload(play.receipt([one], account: "user-\(number)"), by: "user-\(number)", for: one)
            }
            let paid = play.buy("2000000000000300", "vip", hoursAgo: 50) {
                $0.productType = .autoRenewable
                $0.expiresAt = $0.purchasedAt + 30 * 86_400
            }
            try await play.upload(play.receipt([paid]), for: paid)
            _ = try await play.server(
                "SELECT iap.entitle(\(Play.bundleID), \(paid.id), 'anna', \(play.began + 28 * 86_400))::text AS answer")
            let dry = try await play.night(isDryRun: true).report
            let real = try await play.night().report
            #expect(dry.cases == real.cases)
            #expect(real.cases.total == 12)
            #expect(dry.patterns == real.patterns)
            #expect(!real.patterns.contains { $0.cause == .outage && $0.until == nil })
        }
    }

    /// The numbers of a dry run's moves are nobody's.
    private func comparable(_ cases: [ReportedCase]) -> [ReportedCase] {
        cases.map { found in
            var found = found
            found.standing = ""
            return found
        }
    }

    private func live(_ play: Play) async throws {
        try await play.administer(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name)
            VALUES
                ('com.example.game', 'noads', 'non_consumable', 'No ads'),
                ('com.example.game', 'vip', 'auto_renewable', 'VIP'),
                ('com.example.game', 'gems.60', 'consumable', '60 gems')
            """)
        // Of one receipt one was delivered.
        let delivered = play.buy("1000000000000001")
        let lost = play.buy("1000000000000002")
        try await deliver(delivered, play)
        for user in ["anna", "ben", "carl"] {
            try await play.upload(play.receipt([delivered], madeHoursAgo: Double(user.count)), by: user, for: delivered)
        }
        try await play.upload(play.receipt([delivered, lost]), by: nil)
        // The period after a lost one was delivered.
        let periods = [(0, 800.0), (1, 80)].map { number, hoursAgo in
            play.buy("200000000000010\(number)", "vip", hoursAgo: hoursAgo) {
                $0.productType = .autoRenewable
                $0.originalID = "2000000000000100"
                $0.expiresAt = $0.purchasedAt + 30 * 86_400
            }
        }
        try await deliver(periods[1], play)
        try await play.upload(play.receipt(periods), for: periods[0])
        try await deliver(play.buy("1000000000000003", "noads") { $0.productType = .nonConsumable }, play)
        try await play.upload(play.receipt([play.buy("1000000000000004")], bundleID: Play.foreignBundleID))
    }

    /// The day after the first night.
    private func liveOn(_ play: Play) async throws {
        let restored = play.buy("1000000000000005", "noads", hoursAgo: 20) {
            $0.productType = .nonConsumable
            $0.originalID = "1000000000000003"
        }
        try await play.upload(play.receipt([restored]), for: restored)
        // Uploaded for what another receipt brought and what was delivered.
        let other = play.buy("1000000000000006", hoursAgo: 30)
        try await play.upload(play.receipt([other]), for: play.buy("1000000000000001"))
    }

    private func deliver(_ transaction: SimulatedTransaction, _ play: Play) async throws {
        try await play.admit(transaction)
        #expect(try await play.claim(transaction) == "delivered")
    }
}
