import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// What Apple tells by itself, by its history of notifications.
@Suite struct NoticeScenarioTests {
    /// Every notification is there, and was taken by the app's server at once.
    static var allTaken: NoticePolicy {
        var policy = NoticePolicy()
        policy.refusedShare = 0
        return policy
    }

    @Test func aPurchaseThatNeverReachedTheServerIsFound() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let untold = play.buy("2000000000000001", hoursAgo: 30)
            let (report, findings) = try await play.night()
            let found = try #require(findings.cases.first)
            #expect(findings.caseIDs == [untold.id])
            #expect(found.assessment.reasons.contains(.onlyAppleTold))
            // What the job hands in for Apple is no upload, whatever lies in the inbox.
            #expect(found.sightings == [])
            #expect(try await play.check(untold.id).transactions.map(\.sightings) == [[]])
            // The app's server had it and did nothing: nothing more comes.
            #expect(!found.assessment.reasons.contains(.mayStillArrive))
            #expect(found.assessment.likelihood == .high)
            #expect(report.heard == NoticeTotals(fresh: 1, unknown: 1))
            #expect(report.totals.newlyWhite.transactions == 1)
            // The next night hears the same day again, and nothing is doubled.
            let next = try await play.night(2)
            #expect(next.report.heard?.fresh == 0 && next.report.heard?.unknown == 0)
            #expect(next.findings.caseIDs == [untold.id])
            #expect(try await play.count("iap.notices") == 1)
            #expect(try await play.count("iap.receipts") == 1)
        }
    }

    @Test func aNoticeOfAKnownPurchaseCostsNoQuestion() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000002", hoursAgo: 30)
            #expect(try await play.admit(bought) == "white")
            #expect(try await play.claim(bought) == "delivered")
            let report = try await play.night().report
            #expect(report.heard == NoticeTotals(fresh: 1, unknown: 0))
            #expect(play.store.counts.byServerAPIEndpoint[.history] == nil)
            #expect(try await play.count("iap.receipts") == 0)
        }
    }

    @Test(arguments: [nil, 33_333] as [Int64?])
    func aRefundAfterTheDeliveryIsBookedTheNightAfter(percentage: Int64?) async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000003", hoursAgo: 30)
            #expect(try await play.admit(bought) == "white")
            #expect(try await play.claim(bought) == "delivered")
            _ = try await play.night()
            let kind = percentage.map { Refund.Kind.prorated($0) } ?? .full
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60, kind: kind)) }
            let (report, findings) = try await play.night(2)
            #expect(report.heard?.fresh == 1 && findings.caseIDs.isEmpty)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
            let amount = try await play.text("SELECT sum(amount) FROM finance.refunds")
            #expect(amount == (percentage == nil ? "0.990" : "0.330"))
            let booked = try await play.text("SELECT sum(amount) FROM finance.journal WHERE account = 'refunded'")
            #expect(booked == amount)
            #expect(try await play.count("finance.unexplained") == 0)
        }
    }

    /// The customer got the money back, and Apple took it again: what was delivered stays so, what was owed is.
    @Test func aReversedRefundIsOwedOrDeliveredAgain() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let delivered = play.buy("2000000000000004", hoursAgo: 30)
            let owed = play.buy("2000000000000005", hoursAgo: 30)
            for bought in [delivered, owed] { #expect(try await play.admit(bought) == "white") }
            #expect(try await play.claim(delivered) == "delivered")
            for id in [delivered.id, owed.id] {
                play.store.update { $0.refund(id, Refund(at: play.began - 7200, kind: .prorated(50_000))) }
            }
            let first = try await play.night()
            #expect(first.findings.caseIDs.isEmpty)
            #expect(try await play.text("SELECT sum(amount) FROM finance.refunds") == "0.990")
            for id in [delivered.id, owed.id] {
                play.store.update { records in
                    records.refund(
                        id, Refund(at: play.began - 7200, kind: .prorated(50_000), reversedAt: play.began - 60))
                }
            }
            let second = try await play.night(2)
            #expect(second.findings.caseIDs == [owed.id])
            #expect(try await play.count("finance.refunds") == 0)
            #expect(try await play.count("iap.moves WHERE kind = 'refund_reversed'") == 2)
            #expect(try await play.count("finance.unexplained") == 0)
            // The REFUND is still in what the next night hears: it is older than the reversal.
            let third = try await play.night(3)
            #expect(third.findings.caseIDs == [owed.id])
            #expect(try await play.count("finance.refunds") == 0)
        }
    }

    /// The customer's own word to Apple that nothing came.
    @Test func aCustomerWhoAskedAppleIsHeard() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000006", hoursAgo: 30)
            play.store.update {
                $0.add(ConsumptionRequest(at: play.began - 3600, reason: "FULFILLMENT_ISSUE"), of: bought.id)
            }
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.assessment.reasons.contains(.askedApple))
            #expect(found.assessment.likelihood == .high)
            let status: SQL = "SELECT iap.delivery_status(\(Play.bundleID), \(bought.id)) AS answer"
            #expect(try await play.server(status).decode("answer", as: String.self) == "UNDELIVERED_OTHER")
            #expect(try await play.claim(bought) == "delivered")
            #expect(try await play.server(status).decode("answer", as: String.self) == "DELIVERED")
        }
    }

    /// Apple tries again for days: it may yet arrive by itself.
    @Test func whatAppleStillTriesToSendMayArrive() async throws {
        var refused = NoticePolicy()
        refused.refusedShare = 1
        try await withPlay(hasKey: true, notices: refused) { play in
            _ = play.buy("2000000000000007", hoursAgo: 30)
            let (report, findings) = try await play.night()
            let found = try #require(findings.cases.first)
            #expect(found.assessment.reasons.contains(.mayStillArrive) && found.assessment.likelihood == .medium)
            #expect(report.hearings.first?.unsent == 1)
        }
    }

    @Test func aTokenThatTheServerRegisteredNamesTheCustomer() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let token = "7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5b"
            _ = try await play.server(
                "SELECT iap.register_user(\(Play.bundleID), 'berta', \(token.uppercased())) AS answer")
            let bought = play.buy("2000000000000008", hoursAgo: 30) { $0.appAccountToken = token }
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.assessment.owner.user == "berta")
            #expect(try await play.claim(bought, for: "anna") == "wrong_user")
            #expect(try await play.claim(bought, for: "berta") == "delivered")
        }
    }

    @Test func aDryRunHearsAndWritesNothing() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000009", hoursAgo: 30)
            let known = play.buy("2000000000000010", hoursAgo: 30)
            #expect(try await play.admit(known) == "white")
            play.store.update { $0.refund(known.id, Refund(at: play.began - 60)) }
            var findings = Collector()
            let job = NightlyJob(settings: play.settings, programVersion: "test", log: { _ in }, progress: { _ in })
            let report = try await job.run(
                RunOptions(isDryRun: true, now: play.began + 3600), stop: StopSignal(), findings: &findings)
            #expect(report.heard == NoticeTotals(fresh: 3, unknown: 1))
            // Refunded, as Apple tells: no case.
            #expect(findings.caseIDs.isEmpty)
            for table in ["notices", "hearings", "receipts", "moves"] {
                #expect(try await play.count("iap.\(unsafe: table)") == 0, "\(table)")
            }
            #expect(try await play.night().findings.caseIDs == [bought.id])
        }
    }

    /// A claim that is open holds up no night: what it holds is read again in the next.
    @Test func aRefundOfWhatAnotherSessionHoldsComesTheNextNight() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let held = play.buy("2000000000000011", hoursAgo: 30)
            let free = play.buy("2000000000000012", hoursAgo: 30)
            for bought in [held, free] { #expect(try await play.admit(bought) == "white") }
            for bought in [held, free] { play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) } }
            let connection = try await play.database.connect(as: "iap_app")
            try await connection.execute("BEGIN")
            _ = try await connection.query("SELECT iap.claim(\(Play.bundleID), \(held.id), 'anna')")
            let first = try await play.night()
            #expect(first.report.leftOut.transactions.map(\.text) == [held.id])
            #expect(try await play.count("iap.excluded WHERE reason = 'refunded'") == 1)
            try await connection.execute("COMMIT")
            connection.close()
            _ = try await play.night(4)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
        }
    }

    // MARK: What the app's server hands on

    @Test func whatIsHandedOnOfWhatAnotherSessionHoldsWaitsForTheNextNight() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000021", hoursAgo: 30)
            #expect(try await play.admit(bought) == "white")
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            for payload in play.store.notifications(of: Play.bundleID) {
                _ = try await play.server("SELECT iap.submit_notification(\(Play.bundleID), \(payload))")
            }
            let connection = try await play.database.connect(as: "iap_app")
            try await connection.execute("BEGIN")
            _ = try await connection.query("SELECT iap.claim(\(Play.bundleID), \(bought.id), 'anna')")
            let first = try await play.night()
            #expect(first.report.leftOut.transactions.map(\.text) == [bought.id])
            #expect(try await play.count("iap.handed_notices") > 0)
            try await connection.execute("COMMIT")
            connection.close()
            _ = try await play.night(2)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
            #expect(try await play.count("iap.handed_notices") == 0)
        }
    }

    /// An app's server hands on what Apple posts, and Apple posts again for days what was not taken.
    @Test(arguments: [[0, 1], [1, 0]])
    func aRefundThatWasTakenBackIsNoneInWhateverOrderTheNoticesCome(order: [Int]) async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000022", hoursAgo: 90)
            try await play.upload(play.receipt([bought], style: .signedTransaction), for: bought)
            #expect(try await play.night().findings.caseIDs == [bought.id])
            let known = Set(play.store.notifications(of: Play.bundleID))
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 7200)) }
            let refund = Set(play.store.notifications(of: Play.bundleID)).subtracting(known)
            play.store.update {
                $0.refund(bought.id, Refund(at: play.began - 7200, reversedAt: play.began - 3600))
            }
            let reversal = Set(play.store.notifications(of: Play.bundleID)).subtracting(known).subtracting(refund)
            let told = [try #require(refund.first), try #require(reversal.first)]
            for (night, number) in order.enumerated() {
                _ = try await play.server("SELECT iap.submit_notification(\(Play.bundleID), \(told[number]))")
                _ = try await play.night(night + 2)
            }
            #expect(try await play.night(4).findings.caseIDs == [bought.id])
            #expect(try await play.count("iap.white") == 1)
        }
    }

    @Test func whatTheServerHandsOnIsTakenWithoutAKey() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000013", hoursAgo: 30)
            let payload = try #require(play.store.notifications(of: Play.bundleID).first)
            let submit: SQL = "SELECT iap.submit_notification(\(Play.bundleID), \(payload)) AS answer"
            for _ in 1...2 { #expect(try await play.server(submit).decode("answer", as: String.self) == "waiting") }
            let (report, findings) = try await play.night()
            #expect(report.heard == NoticeTotals(fresh: 1, unknown: 1))
            #expect(findings.caseIDs == [bought.id])
            #expect(findings.cases.first?.assessment.reasons.contains(.onlyAppleTold) == true)
            #expect(try await play.count("iap.handed_notices") == 0)
            // Handed on once more, it is the same.
            _ = try await play.server(submit)
            #expect(try await play.night(2).report.heard?.fresh ?? 0 == 0)
            #expect(try await play.count("iap.notices") == 1)
        }
    }

    /// What Apple signed of a purchase, of its refund, and of that refund's reversal.
    private func signed(_ play: Play, _ bought: SimulatedTransaction) throws -> [String] {
        play.store.update { records in
            records.refund(
                bought.id, Refund(at: play.began - 72 * 3600, reversedAt: play.began - 24 * 3600))
        }
        let signed = play.store.notifications(of: Play.bundleID)
        try #require(signed.count == 3)
        return signed
    }

    private func hand(_ play: Play, _ payload: String) async throws {
        _ = try await play.server("SELECT iap.submit_notification(\(Play.bundleID), \(payload)) AS answer")
    }

    /// What the client kept of the refund is as old as its signature, whenever it comes.
    @Test func aRefundThatWasReversedIsNoneWhenItsSignatureComesLate() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000021", hoursAgo: 90)
            let signed = try signed(play, bought)
            try await play.upload(signed[0])
            #expect(try await play.night(1).findings.caseIDs == [bought.id])
            try await hand(play, signed[1])
            #expect(try await play.night(2).findings.caseIDs == [])
            try await hand(play, signed[2])
            #expect(try await play.night(3).findings.caseIDs == [bought.id])
            try await play.upload(signed[1])
            #expect(try await play.night(4).findings.caseIDs == [bought.id])
            #expect(try await play.count("iap.moves WHERE kind = 'refunded'") == 1)
        }
    }

    @Test func aReversalIsHeardOfWhatOnlyASignatureSaidWasRefunded() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000022", hoursAgo: 90)
            let signed = try signed(play, bought)
            try await hand(play, signed[1])
            #expect(try await play.night(1).findings.caseIDs == [])
            #expect(try await play.count("iap.excluded WHERE reason = 'refunded' AND source = 'local'") == 1)
            try await hand(play, signed[2])
            #expect(try await play.night(2).findings.caseIDs == [bought.id])
        }
    }

    @Test(arguments: [[1, 2], [2, 1]])
    func ofTwoSignaturesTheLaterCounts(order: [Int]) async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            let bought = play.buy("2000000000000023", hoursAgo: 90)
            let signed = try signed(play, bought)
            for number in order { try await play.upload(signed[number]) }
            #expect(try await play.night(1).findings.caseIDs == [bought.id])
        }
    }

    @Test(arguments: ["", "nonsense", "a.b.c"])
    func whatIsNotApplesStaysAsideAndIsTold(payload: String) async throws {
        try await withPlay(.local) { play in
            let submit: SQL = "SELECT iap.submit_notification(\(Play.bundleID), \(payload)) AS answer"
            guard !payload.isEmpty else {
                await #expect(throws: (any Error).self) { () async throws in _ = try await play.server(submit) }
                return
            }
            _ = try await play.server(submit)
            let report = try await play.night().report
            #expect(report.hearings.first?.notTaken.map(\.notices) == [1] && report.outcome == .complete)
            #expect(try await play.count("iap.handed_notices WHERE problem IS NOT NULL") == 1)
        }
    }

    /// One app's server may not change what another app sold.
    @Test func aNotificationOfAnotherAppIsRefused() async throws {
        try await withPlay(.local, notices: Self.allTaken) { play in
            _ = play.buy("2000000000000014", hoursAgo: 30)
            let payload = try #require(play.store.notifications(of: Play.bundleID).first)
            var other = play
            other.settings.apps[0] = AppSettings(
                app: App(
                    bundleID: try #require(BundleID(Play.foreignBundleID)), environment: .production,
                    grace: Grace(3600), since: nil), verification: .local)
            _ = try await play.server("SELECT iap.submit_notification(\(Play.foreignBundleID), \(payload)) AS answer")
            let report = try await other.night().report
            #expect(report.hearings.first?.notTaken.map(\.notices) == [1])
            #expect(try await play.count("iap.notices") == 0)
        }
    }

    // MARK: An Apple that stumbles

    /// Every notice arrives although pages fail; what fails to the end is told, and the next night reads it.
    @Test func pagesThatFailAreReadTheNextNight() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken) { play in
            let bought = (0..<65).map { play.buy(String(2_000_000_000_001_000 + $0), hoursAgo: 30) }
            let answers = play.settings.apple.serverAPIProduction
            var down = play
            try await TestServer.with({ _, connection in
                connection.respond(500, body: Data(#"{"errorCode":5000000,"errorMessage":"An error."}"#.utf8))
            }) { server in
                down.settings.apple.serverAPIProduction = server.url
                let report = try await down.night().report
                guard case .endedEarly(let why) = report.outcome else {
                    Issue.record("the night counts as done")
                    return
                }
                #expect(why.contains("notifications"), "\(why)")
                #expect(report.hearings.first?.problem != nil && report.hearings.first?.heardThrough == nil)
            }
            down.settings.apple.serverAPIProduction = answers
            let next = try await down.night(2)
            #expect(next.report.outcome == .complete)
            #expect(next.findings.caseIDs == Set(bought.map(\.id)))
            #expect(next.report.hearings.first?.problem == nil)
        }
    }

    /// Forged pages, tokens that expire, answers that are cut, late or none: some night reads it
    /// all, and until then each says that it did not.
    @Test func whateverPagesMeetNothingIsMissedOrDoubled() async throws {
        let faults = try Faults(
            [
                .forged: 0.06, .expiredToken: 0.06, .timeout: 0.01, .http500: 0.06, .cut: 0.04,
                .html: 0.04,
            ],
            timeoutSeconds: 8)
        try await withPlay(hasKey: true, notices: Self.allTaken, faults: faults) { play in
            let bought = (0..<130).map { play.buy(String(2_000_000_000_002_000 + $0), hoursAgo: 30 + Double($0 % 7)) }
            for bought in bought.prefix(65) {
                #expect(try await play.admit(bought) == "white")
                #expect(try await play.claim(bought) == "delivered")
            }
            var isComplete = false
            for number in 1...12 where !isComplete {
                let (report, _) = try await play.night(number)
                let isHeard = report.hearings.first?.problem == nil
                if !isHeard { #expect(report.outcome != .complete) }
                let known = try await play.count("iap.transactions")
                isComplete = isHeard && known == bought.count
            }
            #expect(isComplete)
            #expect(try await play.count("iap.notices") == bought.count)
            #expect(try await play.count("iap.white") == 65)
            // A customer's history may tell of the others before their notices come.
            #expect(try await play.count("iap.receipts") <= 65)
        }
    }

    @Test func anotherAppsNoticeIsLeftOut() async throws {
        try await withPlay(hasKey: true, notices: Self.allTaken, faults: try Faults([.foreign: 1])) { play in
            for number in 0..<10 { _ = play.buy(String(2_000_000_000_003_000 + number), hoursAgo: 30) }
            let report = try await play.night().report
            #expect(report.outcome == .complete)
            #expect(try await play.count("iap.notices") == 9)
            #expect(try await play.count("iap.notices WHERE bundle_id <> \(Play.bundleID)") == 0)
        }
    }
}
