import AppStoreSimulator
import Commands
import Foundation
import Job
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// A purchase of which no receipt came is put right by the support desk.
@Suite struct AdoptTests {
    private func desk(_ play: Play) -> SupportDesk {
        var settings = play.settings
        settings.database = play.database.conninfo(as: "iap_support")
        return SupportDesk(settings: settings)
    }

    private func adopt(
        _ id: String, _ play: Play, user: String = "anna", app: String? = nil
    ) async throws -> [Adoption.Result] {
        try await desk(play).adopt(
            Adoption(id: id, userID: user, by: "sue", note: "sent the invoice", bundleID: app.flatMap(BundleID.init))
        ) { play.settings }
    }

    private func outcomes(_ id: String, _ play: Play) async throws -> [Adoption.Result.Outcome] {
        try await adopt(id, play).map(\.outcome)
    }

    /// The receipt comes a week later.
    @Test(arguments: [false, true]) func whatWasAdoptedIsDeliveredOnce(byInvoice: Bool) async throws {
        try await withPlay(hasKey: true) { play in
            let gems = play.buy("3000000001", hoursAgo: 30)
            let invoice = StoredPurchase(gems, bundleID: Play.bundleID, account: "anna").orderID
            let results = try await adopt(byInvoice ? invoice : gems.id, play)
            #expect(results.map(\.outcome) == [.white] && results.map(\.key.id.text) == [gems.id])
            let id = try #require(TransactionID(gems.id))
            let resolved = try await desk(play).carryOut(
                Resolution(transactionID: id, decision: .delivered(), by: "sue", note: "by hand"))
            #expect(resolved == .done)
            _ = try await play.night()
            try await play.upload(play.receipt([gems]), for: gems)
            #expect(try await play.claim(gems) == "already_delivered")
            let findings = try await play.night(8).findings
            #expect(findings.cases.isEmpty)
            #expect(try await play.text("SELECT user_id FROM iap.black") == "anna")
            #expect(try await outcomes(gems.id, play) == [.alreadyDelivered])
        }
    }

    /// Until somebody delivers it, it is a case, with the desk's word as evidence; and the customer may claim it.
    @Test func whatWasAdoptedIsACaseWithTheDesksWord() async throws {
        try await withPlay(hasKey: true) { play in
            let gems = play.buy("3000000002", hoursAgo: 30)
            #expect(try await outcomes(gems.id, play) == [.white])
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.assessment.owner.user == "anna")
            #expect(found.assessment.candidates.first?.evidence.contains(.toldSupport) == true)
            #expect(found.comments.map(\.text) == ["sent the invoice"])
            // The night verified what Apple signed, and has its price.
            #expect(try await play.count("iap.white WHERE source = 'server_api' AND price_milliunits = 990") == 1)
            #expect(try await play.claim(gems, for: "eve") == "wrong_user")
            #expect(try await play.claim(gems) == "delivered")
        }
    }

    @Test func whatAppleRefundedIsNotAdopted() async throws {
        try await withPlay(hasKey: true) { play in
            let gems = play.buy("3000000003", hoursAgo: 30)
            play.store.update { $0.refund(gems.id, Refund(at: play.began - 60)) }
            let outcomes = try await outcomes(gems.id, play)
            #expect(outcomes == [.refunded])
            #expect(try await play.count("iap.transactions") == 0)
        }
    }

    @Test func aTestersPurchaseIsNotAdopted() async throws {
        try await withPlay(hasKey: true) { play in
            let tested = SimulatedTransaction(
                id: "3000000004", productID: "gems.60", purchasedAt: play.began - 3600)
            play.store.update {
                $0.add(StoredPurchase(tested, bundleID: Play.bundleID, environment: .sandbox, account: "tester"))
            }
            let outcomes = try await outcomes(tested.id, play)
            #expect(outcomes == [.sandbox])
            #expect(try await play.count("iap.transactions") == 0)
        }
    }

    @Test(arguments: ["3000000005", "MXXXXXXXXX", "order-1"]) func whatAppleDoesNotKnowIsNotAdopted(id: String)
        async throws
    {
        try await withPlay(hasKey: true) { play in
            await #expect(throws: JobError.self) { try await adopt(id, play) }
            let known = try await play.count("iap.transactions")
            #expect(known == 0)
        }
    }

    /// As where a proxy mixes up answers.
    @Test func whatAppleAnswersOfAnotherPurchaseIsNotAdopted() async throws {
        let other = Signed.transaction("3000000011", bundleID: Play.bundleID)
        try await TestServer.with({ _, connection in
            connection.respond(200, body: Data(#"{"signedTransactionInfo":"\#(other)"}"#.utf8))
        }) { server in
            try await withPlay(hasKey: true) { play in
                var play = play
                play.settings.apple.serverAPIProduction = server.url
                let asked = play
                await #expect {
                    try await adopt("3000000010", asked)
                } throws: {
                    "\($0)".contains("another transaction than was asked for")
                }
                let known = try await play.count("iap.transactions")
                #expect(known == 0)
            }
        }
    }

    @Test func oneAppAloneIsAskedAbout() async throws {
        try await withPlay(hasKey: true) { play in
            let gems = play.buy("3000000008", hoursAgo: 30)
            await #expect {
                try await adopt(gems.id, play, app: "com.nope")
            } throws: {
                "\($0)" == "Apple could not be asked about \(gems.id): There is no section [app com.nope]."
            }
            var play = play
            var keyless = play.settings.apps[0]
            keyless.serverAPI = nil
            keyless.app = App(
                bundleID: try #require(BundleID("com.keyless")), environment: .production, grace: keyless.app.grace,
                since: nil)
            play.settings.apps.append(keyless)
            await #expect {
                try await adopt(gems.id, play, app: "com.keyless")
            } throws: {
                "\($0)".contains("The app com.keyless has no key for the App Store Server API")
            }
            await #expect {
                try await adopt("3000000009", play)
            } throws: {
                "\($0)".contains("com.keyless was not asked about: it has no key for the App Store Server API")
            }
            #expect(try await play.count("iap.transactions") == 0)
            #expect(try await adopt(gems.id, play, app: Play.bundleID).map(\.outcome) == [.white])
        }
    }

    @Test func withoutAKeyNothingIsAdopted() async throws {
        try await withPlay { play in
            let gems = play.buy("3000000006", hoursAgo: 30)
            await #expect(throws: JobError.self) { try await adopt(gems.id, play) }
        }
    }

    @Test func whoIsOnACaseAndWhatTheyWroteIsReported() async throws {
        try await withPlay(hasKey: true) { play in
            let gems = play.buy("3000000007", hoursAgo: 30)
            try await play.upload(play.receipt([gems]), for: gems)
            let id = try #require(TransactionID(gems.id))
            let subject = DeskSubject(transactionID: id)
            #expect(try await desk(play).take(subject, by: "sue", isFreeing: false) == .noOpenCase)
            #expect(try await desk(play).comment(on: subject, "x", by: "sue") == .notVerified)
            _ = try await play.night()
            #expect(try await desk(play).take(subject, by: "sue", isFreeing: false) == .taken)
            guard case .takenAlready(by: "sue", _) = try await desk(play).take(subject, by: "bob", isFreeing: false)
            else {
                Issue.record("bob took what sue is on")
                return
            }
            #expect(try await desk(play).comment(on: subject, "called her", by: "sue") == .noted)
            let found = try #require(try await play.night().findings.cases.first)
            #expect(found.taking?.by == "sue")
            #expect(found.comments.map(\.text) == ["called her"] && found.comments.map(\.by) == ["sue"])
            // A day later nobody is on it any more.
            let later = try #require(try await play.night(3).findings.cases.first)
            #expect(later.taking == nil && later.comments.count == 1)
            #expect(try await desk(play).take(subject, by: "bob", isFreeing: true) == .freed)
        }
    }
}
