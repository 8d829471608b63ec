import Verification
import AppStoreSimulator
import Foundation
import Ledger
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// Subscriptions whose server keeps until when it has granted, and apps that the job can't see delivering.
@Suite struct SubscriptionScenarioTests {
    /// Ten days a period.
    private static let length = 10.0 * 24

    /// Periods of one subscription, the first so many hours ago; the ids count up.
    private func subscribe(_ play: Play, periods: Int, hoursAgo: Double) async throws -> [SimulatedTransaction] {
        try await play.administer(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
            VALUES
                (\(Play.bundleID), 'vip', 'auto_renewable', 'VIP', 990, 'USD'),
                (\(Play.bundleID), 'gems.60', 'consumable', '60 gems', 990, 'USD')
            """)
        return (0..<periods).map { number in
            play.buy("200000000000010\(number)", "vip", hoursAgo: hoursAgo - Double(number) * Self.length) {
                $0.productType = .autoRenewable
                $0.originalID = "2000000000000100"
                $0.expiresAt = $0.purchasedAt + Self.length * 3600
            }
        }
    }

    /// A period, and one of another product that takes its place.
    private func upgrade(
        _ play: Play, from replaced: (product: String, hoursAgo: Double, days: Double),
        to upgrade: (product: String, hoursAgo: Double, days: Double)
    ) async throws -> [SimulatedTransaction] {
        try await play.administer(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name)
            SELECT \(Play.bundleID), unnest(\([replaced.product, upgrade.product])), 'auto_renewable', 'VIP'
            """)
        return [("2000000000000100", replaced), ("2000000000000109", upgrade)].map { id, period in
            play.buy(id, period.product, hoursAgo: period.hoursAgo) {
                $0.productType = .autoRenewable
                $0.originalID = "2000000000000100"
                $0.expiresAt = $0.purchasedAt + period.days * 86_400
            }
        }
    }

    private func entitle(_ play: Play, until: Date, at grant: Date? = nil) async throws {
        let connection = try await play.database.connect(as: "iap_app")
        _ = try await connection.query(
            "SELECT iap.entitle(\(Play.bundleID), '2000000000000100', 'anna', \(until)) AS until")
        connection.close()
        guard let grant else { return }
        try await play.administer(
            "UPDATE iap.entitlements SET first_granted_at = \(grant), granted_at = \(grant)")
        try await play.administer("UPDATE iap.entitlements AS e SET seal = audit.seal(e)")
    }

    private func kept(_ play: Play, _ delivery: [ProductType: DeliveryMode]) -> Play {
        var play = play
        let app = play.settings.apps[0].app
        play.settings.apps[0].app = App(
            bundleID: app.bundleID, environment: app.environment, grace: app.grace, since: nil, delivery: delivery)
        return play
    }

    /// A restore gives a period another id; its web order line item id stays.
    @Test func aClaimedPeriodIsDeliveredOnceWhenItsIDChanges() async throws {
        try await withPlay(.verifyReceipt) { play in
            let periods = try await subscribe(play, periods: 2, hoursAgo: 300)
            try await play.upload(play.receipt([periods[0]]), for: periods[0])
            #expect(try await play.night(1).findings.caseIDs.contains(periods[0].id))
            #expect(try await play.claim(periods[0]) == "delivered")
            var restored = periods[0]
            restored.id = "2000000000000199"
            try await play.upload(play.receipt([restored, periods[1]]), for: restored)
            for night in 2...3 { #expect(try await play.night(night).findings.caseIDs == [periods[1].id]) }
            let reason = try await play.text("SELECT reason FROM iap.excluded WHERE transaction_id = \(restored.id)")
            #expect(reason == "restored")
            #expect(try await play.claim(restored) == "already_delivered")
            #expect(try await play.claim(periods[1]) == "delivered")
        }
    }

    @Test func whatIsGrantedIsNoCaseAndLeavesWhite() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let periods = try await subscribe(play, periods: 3, hoursAgo: 700)
            try await play.upload(play.receipt(periods), for: periods[2])
            try await entitle(play, until: try #require(periods[2].expiresAt))
            let night = try await play.night()
            #expect(night.findings.cases.isEmpty)
            #expect(night.report.unjudged.isEmpty)
            #expect(try await play.count("iap.black WHERE delivered_by = 'entitlement'") == 3)
            #expect(try await violations(play.database) == [])
        }
    }

    /// Its money, its share of what was bought, and what is under way of it are those of all its periods, whichever of
    /// them it stands under: an earlier one may be heard of later.
    @Test func aCaseIsOfAllItsPeriods() async throws {
        try await withPlay(.verifyReceipt) { play in
            var play = kept(play, [.autoRenewable: .entitlement])
            play.settings.apps[0].app.redelivery = .high
            play.settings.apps[0].app.thresholds.shareLost = 1
            let periods = try await subscribe(play, periods: 3, hoursAgo: 600)
            try await play.administer("UPDATE iap.products SET list_price_milliunits = NULL, currency = NULL")
            try await play.upload(play.receipt(Array(periods[1...])), for: periods[2])
            #expect(try await play.night().findings.cases.map(\.price) == [nil])
            try await play.administer("UPDATE iap.products SET list_price_milliunits = 990, currency = 'USD'")
            try await play.upload(play.receipt(periods), for: periods[0])
            let (report, findings) = try await play.night(2)
            #expect(findings.caseIDs == [periods[0].id])
            let found = try #require(findings.cases.first)
            #expect(found.price == Money(milliunits: 2_970, currency: try #require(CurrencyCode("USD"))))
            let share = report.watched.first { $0.name == "share_lost" }
            #expect(share?.value == .shareLost(lost: 3, purchases: 3, threshold: 1))
            #expect(found.redelivery?.userID == "anna")
            #expect(try await play.count("iap.redeliveries WHERE ended_at IS NULL") == 1)
        }
    }

    /// S19: the server forgot to extend, and does so two days later.
    @Test func aRenewalThatWasNotGrantedIsOneCaseUntilItIs() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let periods = try await subscribe(play, periods: 3, hoursAgo: 500)
            try await play.upload(play.receipt(periods), for: periods[2])
            try await entitle(play, until: try #require(periods[0].expiresAt))
            let first = try await play.night()
            let found = try #require(first.findings.cases.first)
            #expect(first.findings.cases.count == 1)
            #expect(found.key.id.text == periods[1].id)
            #expect(found.assessment.likelihood == .high)
            #expect(found.assessment.reasons.first == .withoutAccess)
            #expect(found.assessment.owner == .user("anna"))
            #expect(found.subscription?.periods.map(\.text) == [periods[1].id, periods[2].id])
            #expect(found.subscription?.paidUntil == periods[2].expiresAt)
            #expect(found.subscription?.entitledUntil == periods[0].expiresAt)
            #expect(found.price?.milliunits == Int64(1980))
            // verifyReceipt tells no price.
            #expect(found.isListPrice)
            #expect(first.report.cases.money.map(\.milliunits) == [2 * 990])
            // The same night again says the same.
            #expect(try await play.night().findings.cases.map(\.key) == [found.key])

            // The period that is over stays told of, the one that goes on is served.
            try await entitle(play, until: try #require(periods[2].expiresAt))
            let second = try await play.night(2)
            let late = try #require(second.findings.cases.first)
            #expect(second.findings.cases.count == 1)
            #expect(late.key == found.key)
            #expect(late.assessment.likelihood == .low)
            #expect(late.assessment.reasons.first == .grantedLate)
            #expect(late.subscription?.periods.map(\.text) == [periods[1].id])
            #expect(late.price?.milliunits == 990)
            #expect(try await violations(play.database) == [])
        }
    }

    /// The server takes the access back, mostly because Apple refunded the period: then it is not owed.
    @Test(arguments: [true, false]) func whatIsRevokedIsAskedAgainSoThatARefundIsNoticed(isRefunded: Bool) async throws
    {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let periods = try await subscribe(play, periods: 2, hoursAgo: 300)
            try await play.upload(play.receipt(periods), for: periods[1])
            try await entitle(play, until: try #require(periods[1].expiresAt))
            _ = try await play.night(1)
            #expect(try await play.count("iap.black WHERE delivered_by = 'entitlement'") == 2)
            _ = try await play.night(2)
            #expect(try await play.count("iap.receipts WHERE state = 'settled'") == 1)
            if isRefunded { play.store.update { $0.refund(periods[1].id, Refund(at: play.began)) } }
            try await play.administer("SELECT iap.revoke_entitlement(\(Play.bundleID), '2000000000000100')")
            let third = try await play.night(3)
            #expect(third.findings.caseIDs == (isRefunded ? [] : [periods[1].id]))
            #expect(third.report.totals.refunded.transactions == (isRefunded ? 1 : 0))
            #expect(try await violations(play.database) == [])
        }
    }

    @Test func aResolveEndsAllThatTheCaseTellsOf() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let periods = try await subscribe(play, periods: 3, hoursAgo: 500)
            try await play.upload(play.receipt(periods), for: periods[2])
            try await entitle(play, until: try #require(periods[0].expiresAt))
            let found = try #require(try await play.night().findings.cases.first)
            let desk = try await LedgerSession.connect(
                LedgerSettings(database: play.database.conninfo(as: "iap_support")))
            defer { desk.close() }
            for period in periods[1...] {
                let known = try #require(
                    try await desk.lookUp(period.id).transactions.first { $0.key.id.text == period.id })
                #expect(known.lostOrder?.assessment.likelihood == .high)
            }
            let resolution = Resolution(
                transactionID: found.key.id, decision: .delivered(), by: "sue", note: "granted by hand")
            #expect(try await desk.carryOut(resolution) == .done)
            #expect(try await play.count("iap.black WHERE delivered_by = 'resolved'") == 2)
            #expect(try await play.night(2).findings.cases.isEmpty)
            #expect(try await violations(play.database) == [])
        }
    }

    /// A server that grants and hangs: what it holds waits, and everybody else is heard.
    @Test func anOpenGrantHoldsUpNobody() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement, .consumable: .claim])
            let periods = try await subscribe(play, periods: 2, hoursAgo: 300)
            try await play.upload(play.receipt(periods), for: periods[1])
            #expect(try await play.night().findings.caseIDs == [periods[0].id])
            let server = try await play.database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute("BEGIN")
            _ = try await server.query(
                """
                SELECT iap.entitle(
                    \(Play.bundleID), '2000000000000100', 'anna', \(try #require(periods[1].expiresAt))) AS until
                """)
            let lost = play.buy("1000000000000904", account: "ben")
            try await play.upload(play.receipt([lost], account: "ben"), by: "ben", for: lost)
            let second = try await play.night(2)
            #expect(second.findings.caseIDs == [periods[0].id, lost.id])
            #expect(second.report.leftOut.transactions.contains { $0.text == periods[1].id })
            try await server.execute("COMMIT")
            #expect(try await play.night(3).findings.caseIDs == [periods[0].id, lost.id])
            #expect(try await violations(play.database) == [])
        }
    }

    /// A claim of a non-consumable hangs while the night finds it restored, and granted.
    @Test func aHungClaimOfWhatWasGrantedHoldsUpNobody() async throws {
        try await withPlay { play in
            let play = kept(play, [.nonConsumable: .entitlement])
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES (\(Play.bundleID), 'full', 'non_consumable', 'Full')
                """)
            let first = play.buy("2000000000000100", "full") { $0.productType = .nonConsumable }
            let restored = play.buy("2000000000000101", "full", hoursAgo: 20) {
                $0.productType = .nonConsumable
                $0.originalID = first.id
            }
            let server = try await play.database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute("BEGIN")
            _ = try await server.query(
                """
                SELECT iap.admit(
                    \(Play.bundleID), 'Production', \(first.id), \(first.id), 'full', 1, \(first.purchasedAt), 'anna') AS told
                """)
            let told = try await server.query("SELECT iap.claim(\(Play.bundleID), \(first.id), 'anna') AS told")
            #expect(try told.first?.decode("told", as: String.self) == "delivered")
            try await entitle(play, until: play.began + 1_000_000_000)
            try await play.upload(play.receipt([restored]), for: restored)
            _ = try await play.night()
            #expect(try await play.count("iap.white WHERE transaction_id = \(restored.id)") == 1)
            try await server.execute("COMMIT")
            #expect(try await play.night(2).findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE reason = 'restored'") == 1)
            #expect(try await violations(play.database) == [])
        }
    }

    /// A refund that Apple tells of while the grant is open is noted once it is not.
    @Test func aRefundDuringAnOpenGrantIsNotLost() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let periods = try await subscribe(play, periods: 1, hoursAgo: 100)
            try await play.upload(play.receipt(periods), for: periods[0])
            #expect(try await play.night().findings.caseIDs == [periods[0].id])
            let server = try await play.database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute("BEGIN")
            _ = try await server.query(
                """
                SELECT iap.entitle(
                    \(Play.bundleID), '2000000000000100', 'anna', \(try #require(periods[0].expiresAt))) AS until
                """)
            play.store.update { $0.refund(periods[0].id, Refund(at: play.began - 60)) }
            _ = try await play.night(2)
            try await server.execute("COMMIT")
            #expect(try await play.night(3).findings.cases.isEmpty)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
            #expect(try await violations(play.database) == [])
        }
    }

    @Test func aGapInThePastThatNothingClosedIsMedium() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let periods = try await subscribe(play, periods: 2, hoursAgo: 900)
            try await play.upload(play.receipt(periods), for: periods[1])
            try await entitle(play, until: try #require(periods[0].expiresAt))
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.key.id.text == periods[1].id)
            #expect(found.assessment.likelihood == .medium)
            #expect(found.assessment.reasons.first == .accessGap)
        }
    }

    /// The grant of the year reaches over the upgrade, and was said before anybody bought it; whichever of the two the
    /// night hears of first.
    @Test(arguments: [false, true])
    func anUpgradeThatTheServerNeverHeardOfIsNotGrantedByWhatItReplaces(isUpgradeFirst: Bool) async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let bought = try await upgrade(play, from: ("vip.year", 2_000, 365), to: ("vip.plus", 900, 10))
            let (year, upgrade) = (bought[0], bought[1])
            try await entitle(play, until: try #require(year.expiresAt), at: year.purchasedAt)
            if isUpgradeFirst {
                try await play.upload(play.receipt([upgrade]), for: upgrade)
                #expect(try await play.night().findings.caseIDs.isEmpty)
            }
            try await play.upload(play.receipt([year, upgrade]), for: year)
            let found = try #require(try await play.night(2).findings.cases.first)
            #expect(found.key.id.text == upgrade.id)
            #expect(found.assessment.reasons.first == .accessGap)
            // Whatever a hand wrote there, the night goes on.
            try await play.administer("UPDATE iap.entitlements SET entitled_until = '-infinity'")
            #expect(try await play.night(3).findings.caseIDs == [upgrade.id])
        }
    }

    /// The server added a billing grace to a week, and says the week's own end again: for nothing that ends later.
    @Test func anUpgradeWithinABillingGraceIsNotGrantedByAShorterWord() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let bought = try await upgrade(play, from: ("vip.week", 144, 7), to: ("vip", 100, 10))
            let (week, upgrade) = (bought[0], bought[1])
            let end = try #require(week.expiresAt)
            try await entitle(play, until: end + 16 * 86_400, at: week.purchasedAt)
            try await entitle(play, until: end)
            try await play.upload(play.receipt(bought), for: week)
            #expect(try await play.night().findings.caseIDs == [upgrade.id])
            try await entitle(play, until: try #require(upgrade.expiresAt))
            #expect(try await play.night(2).findings.cases.isEmpty)
            #expect(try await violations(play.database) == [])
        }
    }

    /// The billing grace was granted hours before the renewal came through, and the grant for that was lost.
    @Test func aRenewalThatLastsLongerThanTheGraceIsACaseOnceAppleTellsItsEnd() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let periods = try await subscribe(play, periods: 2, hoursAgo: 300)
            let renewal = periods[1]
            #expect(try await play.admit(renewal) == "white")
            try await entitle(play, until: renewal.purchasedAt + 5 * 86_400, at: renewal.purchasedAt - 6 * 3600)
            #expect(try await play.count("iap.black") == 1)
            try await play.upload(play.receipt(periods), for: renewal)
            for number in 1...2 {
                let found = try #require(try await play.night(number).findings.cases.first)
                #expect(found.key.id.text == renewal.id)
                #expect(found.assessment.reasons.first == .withoutAccess)
            }
            #expect(try await violations(play.database) == [])
            try await entitle(play, until: try #require(renewal.expiresAt))
            #expect(try await play.night(3).findings.cases.isEmpty)
            #expect(try await violations(play.database) == [])
        }
    }

    @Test func whatIsTakenBackIsOwedAgainAndWhatAppleRefundedIsNot() async throws {
        try await withPlay { play in
            let play = kept(play, [.autoRenewable: .entitlement])
            let periods = try await subscribe(play, periods: 2, hoursAgo: 300)
            try await play.upload(play.receipt(periods), for: periods[1])
            try await entitle(play, until: try #require(periods[1].expiresAt))
            #expect(try await play.night().findings.cases.isEmpty)
            try await play.administer(
                "SELECT iap.revoke_entitlement(\(Play.bundleID), '2000000000000100', \(play.began))")
            let found = try #require(try await play.night(2).findings.cases.first)
            #expect(found.key.id.text == periods[1].id)
            #expect(found.assessment.reasons.first == .withoutAccess)
            #expect(try await violations(play.database) == [])
        }
    }

    @Test func anAppThatNeverDeliveredIsNotConnectedUntilItDoes() async throws {
        try await withPlay { play in
            let play = kept(play, [:])
            let periods = try await subscribe(play, periods: 3, hoursAgo: 700)
            let gems = play.buy("1000000000000901")
            try await play.upload(play.receipt(periods + [gems]), for: gems)
            let first = try await play.night()
            #expect(first.findings.cases.isEmpty)
            #expect(first.report.pending == 0)
            #expect(first.report.unjudged.map(\.cause).allSatisfy { $0 == .notConnected })
            let subscriptions = try #require(first.report.unjudged.first { $0.productType == .autoRenewable })
            #expect(subscriptions.transactions == 3)
            #expect(subscriptions.customers == 1)
            #expect(subscriptions.money.map(\.milliunits) == [3 * 990])

            // From the first claim on, and not before.
            let claimed = play.buy("1000000000000902", hoursAgo: 150)
            try await play.admit(claimed)
            #expect(try await play.claim(claimed) == "delivered")
            let lost = play.buy("1000000000000903", hoursAgo: -0.5)
            try await play.upload(play.receipt([lost]), for: lost)
            let second = try await play.night(2)
            #expect(second.findings.caseIDs == [lost.id])
            #expect(second.report.unjudged.first { $0.productType != .autoRenewable }?.cause == .beforeConnected)
            #expect(second.report.unjudged.first { $0.productType == .autoRenewable }?.cause == .notConnected)
            #expect(try await violations(play.database) == [])
        }
    }

    /// Nobody claims consumables there; the list of products called it one by mistake.
    @Test func whatAMendedListSaysIsJudgedByIt() async throws {
        try await withPlay(.verifyReceipt) { play in
            let play = kept(play, [.nonConsumable: .claim])
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES (\(Play.bundleID), 'noads', 'consumable', 'No ads')
                """)
            let lost = play.buy("1000000000000904", "noads", hoursAgo: 200)
            try await play.upload(play.receipt([lost]), for: lost)
            #expect(try await play.night(1).findings.caseIDs == [])
            try await play.administer("UPDATE iap.products SET type = 'non_consumable' WHERE product_id = 'noads'")
            #expect(try await play.night(2).findings.caseIDs == [lost.id])
        }
    }

    /// Who first let all be claimed, and then says that it keeps entitlements, sees the old cases go.
    @Test func casesGoThatASettingMakesUnfounded() async throws {
        try await withPlay { play in
            let periods = try await subscribe(play, periods: 3, hoursAgo: 700)
            try await play.upload(play.receipt(periods), for: periods[2])
            #expect(try await play.night().findings.cases.count == 3)
            let entitled = kept(play, [.autoRenewable: .entitlement])
            #expect(try await entitled.night(2).findings.caseIDs == [periods[0].id])
            let ignored = kept(play, [.autoRenewable: .ignore])
            let night = try await ignored.night(3)
            #expect(night.findings.cases.isEmpty)
            #expect(night.report.unjudged.map(\.cause) == [.ignored])
            #expect(night.report.unjudged.first?.transactions == 3)
            #expect(try await play.count("iap.cases WHERE closed_as = 'withdrawn'") == 3)
            #expect(try await violations(play.database) == [])
        }
    }

    /// A dry run says the same and leaves nothing.
    @Test func aDryRunSeesEntitlementsToo() async throws {
        try await withPlay { play in
            let play = kept(play, [:])
            let periods = try await subscribe(play, periods: 2, hoursAgo: 300)
            try await play.upload(play.receipt(periods), for: periods[1])
            try await entitle(play, until: try #require(periods[0].expiresAt), at: play.began - 400 * 3600)
            #expect(try await play.night(isDryRun: true).findings.caseIDs == [periods[1].id])
            #expect(try await play.count("iap.transactions") == 0)
            #expect(try await play.night().findings.caseIDs == [periods[1].id])
            #expect(try await play.count("iap.black") == 1)
        }
    }

    /// A dry run's number is nobody's: not that of one of the runs that were killed since, after it had
    /// judged the cases.
    @Test func aDryRunSeesTheCasesOfAKilledRunGo() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000000904", hoursAgo: 90)
            try await play.upload(play.receipt([lost]), for: lost)
            #expect(try await play.night().findings.caseIDs == [lost.id])
            let admin = try await play.database.connect()
            defer { admin.close() }
            _ = try await admin.execute(
                """
                WITH killed AS (
                    INSERT INTO iap.runs (
                        as_of, started_at, finished_at, host, process_id, program_version, state, reason)
                    SELECT as_of, started_at, started_at, host, process_id, program_version, 'abandoned', 'killed'
                    FROM iap.runs
                    CROSS JOIN generate_series(1, 2)
                    RETURNING run_id
                )
                UPDATE iap.cases SET assessed_run_id = (SELECT max(run_id) FROM killed)
                """)
            let ignored = kept(play, [.consumable: .ignore, .nonConsumable: .ignore])
            #expect(try await ignored.night(2, isDryRun: true).findings.cases.isEmpty)
        }
    }

    /// What the night takes back itself, from a moment on that the server said, is verified again: Apple refunded it.
    @Test func whatTheNightTakesBackIsVerifiedAgain() async throws {
        try await withPlay { play in
            let bought = play.buy("2000000000000201", "full", hoursAgo: 30) { $0.productType = .nonConsumable }
            try await play.upload(play.receipt([bought]), for: bought)
            _ = try await play.night()
            _ = try await play.server(
                "SELECT iap.entitle(\(Play.bundleID), \(bought.id), 'anna', 'infinity') AS answer")
            _ = try await play.night(2)
            #expect(try await play.count("iap.receipts WHERE state = 'settled'") == 1)
            _ = try await play.server(
                "SELECT iap.revoke_entitlement(\(Play.bundleID), \(bought.id), \(play.began + 3 * 86_400)) AS answer")
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            _ = try await play.night(5)
            #expect(try await play.count("iap.white") == 1)
            _ = try await play.night(6)
            #expect(try await play.count("iap.excluded WHERE reason = 'refunded'") == 1)
        }
    }

    /// Taken back while a night is under way: behind the frontier of its books, and heard of by the next one.
    @Test func whatIsTakenBackDuringANightIsVerifiedAgain() async throws {
        try await withPlay { play in
            let bought = play.buy("2000000000000202", "full", hoursAgo: 30) { $0.productType = .nonConsumable }
            try await play.upload(play.receipt([bought]), for: bought)
            _ = try await play.night()
            _ = try await play.server(
                "SELECT iap.entitle(\(Play.bundleID), \(bought.id), 'anna', 'infinity') AS answer")
            _ = try await play.night(2)
            _ = try await play.server(
                "SELECT iap.revoke_entitlement(\(Play.bundleID), \(bought.id)) AS answer")
            _ = try await play.night(3)
            #expect(try await play.count("iap.white") == 1)
            // As a night leaves it that had verified the receipt by then, and closes the books over what was taken back.
            try await play.administer("UPDATE iap.receipts SET state = 'settled', next_attempt_at = NULL")
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            _ = try await play.night(4)
            #expect(try await play.count("iap.excluded WHERE reason = 'refunded'") == 1)
        }
    }
}
