import Verification
import Commands
import AppStoreSimulator
import Foundation
import Job
import Reconciliation
import Testing

/// What the support desk is told of ids that only Apple knows.
@Suite struct AppleAskedTests {
    private func invoice(of transaction: SimulatedTransaction) -> String {
        StoredPurchase(transaction, bundleID: Play.bundleID, account: "anna").orderID
    }

    @Test func anInvoiceLeadsToItsPurchase() async throws {
        try await withPlay(hasKey: true) { play in
            let gems = play.buy("1000000001")
            try await play.admit(gems)
            try await play.claim(gems)
            let enquiry = try await play.check(invoice(of: gems), askingApple: play.settings)
            #expect(enquiry.transactions.map(\.key.id.text) == [gems.id])
            #expect(enquiry.unseenTransactions.isEmpty)
            guard case .delivered("anna", _, _) = DeskVerdict(of: enquiry) else {
                Issue.record("\(DeskVerdict(of: enquiry))")
                return
            }
        }
    }

    @Test(arguments: [false, true]) func whatNoReceiptHeldIsTold(byInvoice: Bool) async throws {
        try await withPlay(hasKey: true) { play in
            let gems = play.buy("1000000002")
            let id = byInvoice ? invoice(of: gems) : gems.id
            let enquiry = try await play.check(id, askingApple: play.settings)
            let told = try #require(enquiry.unseenTransactions.first)
            #expect(told.key.id.text == gems.id)
            #expect(told.transaction.purchasedAt == gems.purchasedAt)
            #expect(DeskVerdict(of: enquiry) == .unseen(told.transaction))
            play.store.update { $0.refund(gems.id, Refund(at: play.began - 60)) }
            let refunded = try await play.check(id, askingApple: play.settings)
            #expect(DeskVerdict(of: refunded) == .refunded(at: play.began - 60))
        }
    }

    @Test(arguments: ["MK5TTTVWJH", "1000000003"]) func whatAppleDoesNotKnowIsNotPaid(id: String) async throws {
        try await withPlay(hasKey: true) { play in
            let enquiry = try await play.check(id, askingApple: play.settings)
            #expect(DeskVerdict(of: enquiry) == .notPaid)
        }
    }

    /// One app's no says nothing of another's purchases.
    @Test func whereAnAppHasNoKeyNothingIsSaidToBeUnpaid() async throws {
        try await withPlay(hasKey: true) { play in
            var settings = play.settings
            let first = settings.apps[0].app
            let other = App(
                bundleID: try #require(BundleID("com.example.other")), environment: first.environment,
                grace: first.grace,
                since: nil)
            settings.apps.append(AppSettings(app: other, verification: .local))
            let enquiry = try await play.check("MK5TTTVWJH", askingApple: settings)
            #expect(DeskVerdict(of: enquiry) == .unknown)
            guard case .asked(let answers) = enquiry.apple, case .notAsked(let why) = answers.last?.finding else {
                Issue.record("\(enquiry.apple)")
                return
            }
            #expect(
                answers.map(\.bundleID.text) == [Play.bundleID, "com.example.other"]
                    && why.contains("server_api_key_file"))
        }
    }

    @Test func aKeyAnswersAPersonWhateverVerifiesReceipts() async throws {
        try await withPlay(.verifyReceipt, hasKey: true) { play in
            let gems = play.buy("1000000004")
            let enquiry = try await play.check(invoice(of: gems), askingApple: play.settings)
            #expect(enquiry.unseenTransactions.map(\.key.id.text) == [gems.id])
        }
    }

    @Test func withoutAKeyItIsSaidThatAppleWasNotAsked() async throws {
        try await withPlay { play in
            let enquiry = try await play.check("MK5TTTVWJH", askingApple: play.settings)
            guard case .notAsked(let why) = enquiry.apple else {
                Issue.record("\(enquiry.apple)")
                return
            }
            #expect(why.contains("server_api_key_file"))
            #expect(DeskVerdict(of: enquiry) == .unknown)
        }
    }

    @Test func whyTheKeysCouldNotBeReadIsSaid() async throws {
        struct Unreadable: Error, CustomStringConvertible {
            let description = "the key can't be read"
        }
        try await withPlay { play in
            let enquiry = try await SupportDesk(settings: play.deskSettings).check("MK5TTTVWJH") { throw Unreadable() }
            #expect(enquiry.apple == .notAsked("the key can't be read"))
        }
    }
}
