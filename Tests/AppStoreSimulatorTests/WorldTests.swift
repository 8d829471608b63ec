import Foundation
import Testing

@testable import AppStoreSimulator

@Suite struct WorldTests {
    private func world(seed: UInt64 = 7, customers: Int = 400) throws -> World {
        World(try WorldSettings(seed: seed, customers: customers, days: 5, now: testNow))
    }

    @Test func isTheSameForTheSameSeedAlone() throws {
        let first = try world()
        let again = try world()
        #expect(first.payloads() == again.payloads())
        #expect(first.truth() == again.truth())
        #expect(first.truth() != (try world(seed: 8)).truth())
    }

    @Test func hasEveryScenario() throws {
        let world = try world()
        let scenarios = Set((0..<400).map { Scenario.of(customer: $0, hasSignedTransactions: true) })
        #expect(scenarios == Set(Scenario.allCases))
        #expect(!(0..<400).contains { Scenario.of(customer: $0) == .signedTransaction })
        let losing: Set = ["S01", "S02", "S08", "S11", "S12", "S16", "S17 later", "S19", "S20", "S22", "S24"]
        #expect(Set(world.truth().lost.map(\.scenario)) == losing)
        #expect(world.truth().lost.count { $0.scenario == "S12" } % 2 == 0)
        #expect(world.truth().pending > 0)
    }

    @Test func givesEveryPurchaseAnIDOfItsOwn() throws {
        let ids = try world(customers: 3000).events.purchases.map(\.transaction.id)
        #expect(Set(ids).count == ids.count)
        #expect(Set(ids.map(\.count)) == [15, 18])
    }

    @Test func nothingHappensOutOfItsTime() throws {
        let world = try world()
        for upload in world.events.uploads {
            #expect(upload.at <= world.settings.now)
            for transaction in upload.receipt?.transactions ?? [] {
                #expect(transaction.purchasedAt <= upload.at)
            }
        }
        for delivery in world.events.deliveries {
            let upload = world.events.uploads[delivery.upload]
            #expect(delivery.at <= world.settings.now)
            #expect(upload.at <= delivery.at)
            #expect(upload.userID == delivery.userID)
        }
    }

    @Test func laterPresentMeansLessIsPending() throws {
        let world = try world()
        let patient = world.truth(grace: 10 * 365 * 86_400)
        #expect(patient.lost.isEmpty)
        #expect(patient.pending == world.truth().lost.count + world.truth().pending)
    }

    @Test func truthSurvivesItsFile() throws {
        let truth = try world().truth()
        #expect(try Truth(json: truth.json()) == truth)
    }

    @Test func someClientsHandInSignedTransactionsWhereAskedTo() throws {
        let world = World(
            try WorldSettings(seed: 7, customers: 400, days: 5, now: testNow, hasSignedTransactions: true))
        let payloads = world.payloads()
        let signed = world.events.uploads.compactMap { payloads[$0.content] }.filter { $0.contains(".") }
        #expect(!signed.isEmpty)
        #expect(world.truth().lost.count { $0.scenario == "S25" } == signed.count)
        let endpoint = VerifyReceipt(signer: ReceiptSigner(seed: 7))
        for payload in signed {
            let request = VerifyReceipt.Request(body: Array(#"{"receipt-data":"\#(payload)"}"#.utf8))
            let answer = endpoint.answer(to: request, at: .production, records: world.records, now: testNow)
            #expect(answer == VerifyReceipt.refusal(.malformed))
        }
    }

    /// Asks the store for every receipt of the world, as the job would, and finds the lost ones by what it answers.
    @Test func theStoreAnswersForTheWholeWorld() throws {
        let world = try world()
        let endpoint = VerifyReceipt(signer: ReceiptSigner(seed: 7))
        let records = world.records
        let payloads = world.payloads()
        let delivered = Set(world.events.deliveries.filter { !$0.isRolledBack }.map(\.transaction.originalID))
        let deliveredPeriods = Set(world.events.deliveries.map(\.transaction.id))
        var owed: Set<String> = []
        for upload in world.events.uploads {
            var request: [String: Any] = ["receipt-data": try #require(payloads[upload.content])]
            request["password"] = records.apps[upload.bundleID]?.sharedSecret
            let body = Array(try JSONSerialization.data(withJSONObject: request))
            let asked = VerifyReceipt.Request(body: body)
            let answer = Data(endpoint.answer(to: asked, at: .production, records: records, now: testNow))
            let response = Response(status: 200, headers: [:], body: answer)
            var rows = response.inApp + response.latest
            if response.receipt["bid"] != nil { rows.append(response.receipt) }
            guard response.receipt["bundle_id"] as? String ?? upload.bundleID == upload.bundleID else { continue }
            for row in rows where row["cancellation_date_ms"] == nil {
                guard row["in_app_ownership_type"] as? String != "FAMILY_SHARED" else { continue }
                let id = try #require(row["transaction_id"] as? String)
                let original = try #require(row["original_transaction_id"] as? String)
                let isSubscription = row["expires_date_ms"] != nil
                if isSubscription ? deliveredPeriods.contains(id) : delivered.contains(original) { continue }
                let purchased = try #require(Double(row["purchase_date_ms"] as? String ?? "")) / 1000
                if testNow.timeIntervalSince1970 - purchased >= 3_600 { owed.insert(id) }
            }
        }
        #expect(owed == Set(world.truth().lost.map(\.transactionID)))
    }
}

extension World {
    /// Another transaction of the customer who lost this order.
    func otherPurchase(than order: Truth.LostOrder) -> String? {
        events.purchases.first { $0.userID == order.userID && $0.transaction.id != order.transactionID }?.transaction.id
    }
}
