import AppStoreSimulator
import Foundation
import Testing

@Suite struct VerifyReceiptTests {
    private static let app = SimulatedApp(bundleID: "com.example.game", seed: 7)
    private let store = SimulatedAppStore(
        seed: 7, records: StoreRecords(apps: [VerifyReceiptTests.app]), now: { testNow })

    private func periods(_ count: Int, id: Int = 5000) -> [SimulatedTransaction] {
        (0..<count).map { week in
            let begin = testNow.addingTimeInterval(Double(week - 3) * 7 * 86_400)
            return SimulatedTransaction(
                id: String(id + week), originalID: String(id), productID: "com.example.game.pass.weekly",
                purchasedAt: begin, originalPurchasedAt: testNow.addingTimeInterval(-21 * 86_400),
                expiresAt: begin.addingTimeInterval(7 * 86_400))
        }
    }

    @Test func tellsEverythingInTheReceipt() async throws {
        let payload = store.makeReceipt(receipt([consumable("370000000000001"), consumable("370000000000002")]))
        let response = try await withStore(store) {
            try await Client.verify(payload, at: $0.productionVerifyReceipt)
        }
        #expect(response.status == 200)
        #expect(response.code == 0)
        #expect(response.json["environment"] as? String == "Production")
        #expect(response.receipt["bundle_id"] as? String == "com.example.game")
        #expect(response.receipt["receipt_type"] as? String == "Production")
        #expect(Set(response.inApp.map { $0["transaction_id"] as? String }) == ["370000000000001", "370000000000002"])
        let row = try #require(response.inApp.first)
        #expect(row["quantity"] as? String == "1")
        #expect(row["is_trial_period"] as? String == "false")
        #expect(row["purchase_date_ms"] as? String == "1794827200000")
        #expect(row["purchase_date"] as? String == "2026-11-16 11:06:40 Etc/GMT")
        #expect(row["purchase_date_pst"] as? String == "2026-11-16 03:06:40 America/Los_Angeles")
        #expect(row["original_purchase_date_ms"] as? String == "1794827200000")
        #expect(response.json["latest_receipt_info"] == nil)
    }

    @Test func rowsAreNotInTheOrderOfTime() async throws {
        let transactions = (0..<8).map { consumable("37000000000000\($0)") }
        let payload = store.makeReceipt(receipt(transactions))
        let ids = try await withStore(store) {
            let response = try await Client.verify(payload, at: $0.productionVerifyReceipt)
            return response.inApp.map { $0["transaction_id"] as? String }
        }
        #expect(ids != transactions.map(\.id))
        #expect(Set(ids) == Set(transactions.map(\.id)))
    }

    @Test func sendsEachReceiptToItsOwnEnvironment() async throws {
        let sandbox = store.makeReceipt(receipt([consumable("1000000000000001")], environment: .sandbox))
        let production = store.makeReceipt(receipt([consumable("370000000000001")]))
        try await withStore(store) { addresses async throws -> Void in
            let misdirected = try await Client.verify(sandbox, at: addresses.productionVerifyReceipt)
            #expect(misdirected.body == Data(#"{"status":21007}"#.utf8))
            #expect(misdirected.status == 200)
            #expect(try await Client.verify(production, at: addresses.sandboxVerifyReceipt).code == 21008)
            let found = try await Client.verify(sandbox, at: addresses.sandboxVerifyReceipt)
            #expect(found.code == 0)
            #expect(found.receipt["receipt_type"] as? String == "ProductionSandbox")
        }
    }

    @Test func refusesWhatIsNoReceiptOfItsOwn() async throws {
        let foreign = SimulatedAppStore(seed: 7, keys: .stranger).makeReceipt(receipt([consumable("370000000000001")]))
        try await withStore(store) { addresses async throws -> Void in
            let url = addresses.productionVerifyReceipt
            #expect(try await Client.verify(foreign, at: url).code == 21003)
            for garbage in ["", "bm90IGEgcmVjZWlwdA==", "%%%"] {
                #expect(try await Client.verify(garbage, at: url).code == 21002)
            }
            #expect(try await Client.post(Data("{}".utf8), to: url).code == 21002)
            #expect(try await Client.post(Data("no JSON".utf8), to: url).code == 21002)
            #expect(try await Client.post(Data(), to: url, method: "GET").code == 21000)
            #expect(try await Client.post(Data("{}".utf8), to: addresses.base + "/verify").status == 404)
        }
    }

    @Test func wantsTheSharedSecretForSubscriptionsAlone() async throws {
        let subscription = store.makeReceipt(receipt(periods(1)))
        let gems = store.makeReceipt(receipt([consumable("370000000000001")]))
        try await withStore(store) { addresses async throws -> Void in
            let url = addresses.productionVerifyReceipt
            #expect(try await Client.verify(subscription, at: url).code == 21004)
            #expect(try await Client.verify(subscription, at: url, password: "wrong").code == 21004)
            #expect(try await Client.verify(subscription, at: url, password: Self.app.sharedSecret).code == 0)
            #expect(try await Client.verify(gems, at: url).code == 0)
        }
    }

    @Test func addsTheRenewalsMadeSince() async throws {
        let periods = periods(5)
        store.update { $0.add(Subscription(periods: periods)) }
        let payload = store.makeReceipt(receipt([periods[0], consumable("370000000000001")]))
        try await withStore(store) { addresses async throws -> Void in
            let all = try await Client.verify(
                payload, at: addresses.productionVerifyReceipt, password: Self.app.sharedSecret)
            #expect(all.inApp.count == 2)
            // The fifth period has not begun; the fourth began this very moment.
            #expect(all.latest.map { $0["transaction_id"] as? String } == ["5003", "5002", "5001", "5000"])
            #expect(all.latest.allSatisfy { $0["expires_date_ms"] is String && $0["web_order_line_item_id"] is String })
            let renewal = (all.json["pending_renewal_info"] as? [[String: Any]])?.first
            #expect(renewal?["auto_renew_status"] as? String == "1")
            #expect(renewal?["original_transaction_id"] as? String == "5000")
            let newest = try await Client.verify(
                payload, at: addresses.productionVerifyReceipt, password: Self.app.sharedSecret, excludeOld: true)
            #expect(newest.latest.map { $0["transaction_id"] as? String } == ["5003"])
            let latest = try #require(all.json["latest_receipt"] as? String)
            let again = try await Client.verify(
                latest, at: addresses.productionVerifyReceipt, password: Self.app.sharedSecret)
            #expect(again.inApp.count == 5)
        }
    }

    /// A period that a higher product replaced is refunded, and marked among the latest; offers are told where they are.
    @Test func tellsUpgradesTrialsAndOffers() async throws {
        var periods = periods(3)
        periods[0].isTrial = true
        periods[1].isIntroductory = true
        let payload = store.makeReceipt(receipt(periods))
        store.update { $0.refund(periods[1].id, Refund(at: testNow.addingTimeInterval(-60), isUpgrade: true)) }
        let answer = try await withStore(store) {
            try await Client.verify(payload, at: $0.productionVerifyReceipt, password: Self.app.sharedSecret)
        }
        func ids(_ rows: [[String: Any]], _ key: String) -> [String?] {
            rows.filter { $0[key] as? String == "true" }.map { $0["transaction_id"] as? String }
        }
        #expect(ids(answer.latest, "is_upgraded") == ["5001"])
        #expect(ids(answer.inApp, "is_upgraded") == [])
        #expect(answer.inApp.filter { $0["cancellation_date_ms"] != nil }.count == 1)
        #expect(ids(answer.inApp, "is_trial_period") == ["5000"])
        #expect(ids(answer.inApp, "is_in_intro_offer_period") == ["5001"])
    }

    /// Between two periods, while Apple can't charge, it says so; and until when it keeps the subscription going.
    @Test(arguments: [nil, 6 * 86_400.0]) func tellsBillingRetries(grace: TimeInterval?) async throws {
        var periods = periods(5)
        periods[4].purchasedAt = testNow.addingTimeInterval(9 * 86_400)
        let payload = store.makeReceipt(receipt([periods[0]]))
        for (days, isRetried) in [(0.0, false), (8, true)] {
            let store = SimulatedAppStore(
                seed: 7, records: StoreRecords(apps: [Self.app]), now: { testNow.addingTimeInterval(days * 86_400) })
            store.update { $0.add(Subscription(periods: periods, billingGrace: grace)) }
            let answer = try await withStore(store) {
                try await Client.verify(payload, at: $0.productionVerifyReceipt, password: Self.app.sharedSecret)
            }
            let renewal = try #require((answer.json["pending_renewal_info"] as? [[String: Any]])?.first)
            #expect(renewal["is_in_billing_retry_period"] as? String == (isRetried ? "1" : nil))
            #expect(renewal["expiration_intent"] as? String == (isRetried ? "2" : nil))
            #expect((renewal["grace_period_expires_date_ms"] != nil) == (isRetried && grace != nil))
        }
    }

    @Test func tellsRefundsOnceTheyHappened() async throws {
        let payload = store.makeReceipt(receipt([consumable("370000000000001"), consumable("370000000000002")]))
        try await withStore(store) { addresses async throws -> Void in
            let before = try await Client.verify(payload, at: addresses.productionVerifyReceipt)
            #expect(before.inApp.allSatisfy { $0["cancellation_date_ms"] == nil })
            store.update {
                $0.refund("370000000000001", Refund(at: testNow.addingTimeInterval(-60), reason: "1"))
                $0.refund("370000000000002", Refund(at: testNow.addingTimeInterval(60)))
            }
            let after = try await Client.verify(payload, at: addresses.productionVerifyReceipt)
            let refunded = after.inApp.filter { $0["cancellation_date_ms"] != nil }
            #expect(refunded.map { $0["transaction_id"] as? String } == ["370000000000001"])
            #expect(refunded.first?["cancellation_reason"] as? String == "1")
            #expect(refunded.first?["cancellation_date"] as? String == "2026-11-18 11:05:40 Etc/GMT")
        }
    }

    @Test func saysThatAnAccountIsGone() async throws {
        let payload = store.makeReceipt(receipt([consumable("370000000000001")]))
        store.update { $0.delete(account: "account-1") }
        let code = try await withStore(store) {
            try await Client.verify(payload, at: $0.productionVerifyReceipt).code
        }
        #expect(code == 21010)
    }

    @Test func marksWhatAFamilyMemberBought() async throws {
        var shared = consumable("370000000000001")
        shared.isFamilyShared = true
        let payload = store.makeReceipt(receipt([shared]))
        let row = try await withStore(store) {
            try await Client.verify(payload, at: $0.productionVerifyReceipt).inApp.first
        }
        #expect(row?["in_app_ownership_type"] as? String == "FAMILY_SHARED")
    }

    @Test func answersAnOldReceiptFlat() async throws {
        var gems = receipt([consumable("370000000000001")])
        gems.style = .transactionReceipt
        var expired = receipt([periods(1)[0]])
        expired.style = .transactionReceipt
        let payloads = [store.makeReceipt(gems), store.makeReceipt(expired)]
        try await withStore(store) { addresses async throws -> Void in
            let flat = try await Client.verify(payloads[0], at: addresses.productionVerifyReceipt)
            #expect(flat.code == 0)
            #expect(flat.receipt["bid"] as? String == "com.example.game")
            #expect(flat.receipt["transaction_id"] as? String == "370000000000001")
            #expect(flat.receipt["in_app"] == nil)
            let old = try await Client.verify(
                payloads[1], at: addresses.productionVerifyReceipt, password: Self.app.sharedSecret)
            #expect(old.code == 21006)
            #expect((old.json["latest_expired_receipt_info"] as? [String: Any])?["transaction_id"] as? String == "5000")
        }
    }
}
