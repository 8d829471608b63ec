import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import Testing
import Verification

/// S10: Apple could not verify a receipt for some nights, which says nothing of the receipt.
@Suite struct BusyAppleScenarioTests {
    /// Plays these nights beside an App Store that is always busy.
    private func endure(
        _ nights: ClosedRange<Int>, _ play: Play, _ check: (Int, Collector) throws -> Void = { _, _ in }
    ) async throws {
        let busy = SimulatedAppStore(seed: 7, faults: try Faults([.unavailable: 1]))
        let addresses = try busy.start()
        defer { busy.stop() }
        var waiting = play
        waiting.settings.apple.verifyReceiptProduction = addresses.productionVerifyReceipt
        waiting.settings.apple.attempts = 1
        for night in nights { try check(night, try await waiting.night(night).findings) }
    }

    @Test func s10AppleWasBusyForThreeNights() async throws {
        try await withPlay(.verifyReceipt) { play in
            let lost = play.buy("1000000000001001")
            let number = try await play.upload(play.receipt([lost]), for: lost)
            try await endure(1...3, play) { night, findings in
                #expect(findings.cases.isEmpty)
                #expect(findings.unverified.map(\.receiptID) == [number])
                #expect(findings.unverified.first?.attempts == night)
            }
            #expect(try await play.night(4).findings.cases.map(\.key.id.text) == [lost.id])
            #expect(try await play.count("iap.white") == 1)
        }
    }

    /// What a receipt was uploaded for may come with Apple's next answers, however long the first was waited for.
    @Test func s10WhatTheReceiptLacksIsStillAwaitedAfterAnOutage() async throws {
        try await withPlay(.verifyReceipt) { play in
            let (held, lacking) = (play.buy("1000000000001003"), play.buy("1000000000001004"))
            try await play.upload(play.receipt([held]), for: lacking)
            #expect(try await play.admit(held) == "white")
            #expect(try await play.claim(held) == "delivered")
            try await endure(1...3, play)
            _ = try await play.night(4)
            #expect(try await play.count("iap.receipts WHERE state = 'watched' AND attempts = 1") == 1)
        }
    }

    /// Each app has limits of its own at the App Store Server API, which its own server uses up, too.
    @Test func s10WhatOneAppIsRefusedHoldsUpNoOther() async throws {
        let records = StoreRecords(apps: [SimulatedApp(bundleID: Play.foreignBundleID, seed: 7)])
        let busy = SimulatedAppStore(seed: 7, records: records, faults: try Faults([.http500: 1]))
        let addresses = try busy.start()
        defer { busy.stop() }
        try await withPlay { play in
            var play = play
            play.settings.apple.serverAPIProduction = addresses.productionServerAPI
            play.settings.apple.serverAPISandbox = addresses.sandboxServerAPI
            play.settings.apple.attempts = 1
            play.settings.batchSize = 4
            let grace = play.settings.apps[0].app.grace
            let foreign = try #require(BundleID(Play.foreignBundleID))
            play.settings.apps.append(
                AppSettings(
                    app: App(bundleID: foreign, environment: .production, grace: grace, since: nil), sharedSecret: nil,
                    verification: .serverAPI,
                    serverAPI: ServerAPIAccess(
                        issuerID: APIKey.issuerID, keyID: APIKey.keyID, key: Secret(busy.apiKey.privateKeyPEM))))
            var bought: [String] = []
            for number in 0..<40 {
                let theirs = SimulatedTransaction(
                    id: "10000000000011\(10 + number)", productID: "coins.100", purchasedAt: play.began - 90_000)
                let payload = play.receipt([theirs], style: .signedTransaction, bundleID: Play.foreignBundleID)
                _ = try await play.server(
                    "SELECT iap.submit_receipt(\(Play.foreignBundleID), 'ben', \(payload)) AS answer")
                guard number < 20 else { continue }
                let one = play.buy("10000000000010\(10 + number)")
                try await play.upload(play.receipt([one]), for: one)
                bought.append(one.id)
            }
            let (report, findings) = try await play.night()
            #expect(findings.caseIDs == Set(bought))
            guard case .endedEarly(let why) = report.outcome else {
                Issue.record("the night counts as done")
                return
            }
            #expect(why.hasPrefix("Apple answered no more about com.example.other; "), "\(why)")
            let waiting: SQL = "iap.receipts WHERE bundle_id = \(Play.foreignBundleID) AND state = 'waiting'"
            #expect(try await play.count(waiting) == 40)
            #expect(try await play.count("iap.receipts WHERE attempts = 0 AND state = 'waiting'") > 0)
        }
    }

    /// A receipt holds no refund that came after it was made, whenever it is verified.
    @Test func anOlderReceiptTakesNoRefundBack() async throws {
        try await withPlay(.verifyReceipt) { play in
            let bought = play.buy("1000000000001200")
            let before = play.receipt([bought], madeHoursAgo: 2)
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 5400)) }
            try await play.upload(play.receipt([bought], madeHoursAgo: 1), for: bought)
            #expect(try await play.night().findings.cases.isEmpty)
            let place: SQL = "SELECT coalesce(reason, place) FROM iap.transactions"
            #expect(try await play.text(place) == "refunded")
            // What Apple answers about what was made before.
            play.store.update { $0.reverseRefund(of: bought.id) }
            try await play.upload(before, by: "bob", for: bought)
            #expect(try await play.night(2).findings.cases.isEmpty)
            #expect(try await play.text(place) == "refunded")
            // And what was made afterwards.
            try await play.upload(play.receipt([bought], madeHoursAgo: 0.5), for: bought)
            _ = try await play.night(3)
            #expect(try await play.text(place) == "white")
        }
    }
}
