import AppStoreSimulator
import Foundation
import Testing

@Suite struct EndpointTests {
    private func periods() -> [SimulatedTransaction] {
        (0..<3).map { week in
            let begin = testNow.addingTimeInterval(Double(week - 1) * 7 * 86_400 - 3_600)
            return SimulatedTransaction(
                id: String(370_000_000_000_100 + week), originalID: "370000000000100",
                productID: "com.example.game.pass.weekly", purchasedAt: begin,
                expiresAt: begin.addingTimeInterval(7 * 86_400))
        }
    }

    private func storeWithSubscription() -> SimulatedAppStore {
        let store = storeWithPurchases(2)
        store.update { records in
            records.add(Subscription(periods: periods()))
            for period in periods() {
                records.add(StoredPurchase(period, bundleID: "com.example.game", account: "account-1"))
            }
        }
        return store
    }

    @Test func tellsOneTransaction() async throws {
        try await withStore(storeWithPurchases(2)) { addresses async throws -> Void in
            let answer = try await APIClient(base: addresses.productionServerAPI)
                .get("/inApps/v1/transactions/370000000000001")
            let payload = answer.payload(try #require(answer.json["signedTransactionInfo"] as? String))
            #expect(payload["transactionId"] as? String == "370000000000001")
            #expect(payload["price"] as? Int == 990)
            #expect(payload["signedDate"] as? Int == 1_795_000_000_000)
        }
    }

    @Test func saysWhyThereIsNone() async throws {
        let store = storeWithPurchases(2)
        store.update {
            let gone = SimulatedTransaction(id: "8", productID: "com.example.game.gems.60", purchasedAt: testNow)
            $0.add(StoredPurchase(gone, bundleID: "com.example.game", account: "account-2"))
            $0.delete(account: "account-2")
            let foreign = SimulatedTransaction(id: "9", productID: "com.example.reader.full", purchasedAt: testNow)
            $0.add(StoredPurchase(foreign, bundleID: "com.example.reader", account: "account-1"))
        }
        try await withStore(store) { addresses async throws -> Void in
            let production = APIClient(base: addresses.productionServerAPI)
            for (id, status, code) in [
                ("x", 400, 4_000_006), ("7", 404, 4_040_010), ("8", 404, 4_040_001), ("9", 404, 4_040_010),
            ] {
                for path in ["/inApps/v1/transactions/", "/inApps/v2/history/", "/inApps/v1/subscriptions/"] {
                    let answer = try await production.get(path + id)
                    #expect(answer.status == status, "\(path)\(id)")
                    #expect(answer.errorCode == code, "\(path)\(id)")
                }
            }
            let sandbox = APIClient(base: addresses.sandboxServerAPI)
            #expect(try await sandbox.get("/inApps/v1/transactions/370000000000001").errorCode == 4_040_010)
            #expect(try await production.get("/inApps/v1/transactions/").status == 404)
            #expect(try await production.get("/inApps/v9/transactions/7").status == 404)
        }
    }

    @Test func findsOrdersOfProduction() async throws {
        try await withStore(storeWithPurchases(2)) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let found = try await client.get("/inApps/v1/lookup/\(purchase(1, of: 2).orderID)")
            #expect(found.json["status"] as? Int == 0)
            #expect(found.transactionIDs == ["370000000000001"])
            let unknown = try await client.get("/inApps/v1/lookup/MKSIMULATE")
            #expect(unknown.json["status"] as? Int == 1)
            #expect(unknown.json["signedTransactions"] == nil)
            let sandbox = APIClient(base: addresses.sandboxServerAPI)
            #expect(try await sandbox.get("/inApps/v1/lookup/\(purchase(1, of: 2).orderID)").status == 404)
        }
    }

    @Test func listsRefundsAlone() async throws {
        let store = storeWithPurchases(3)
        store.update { $0.refund("370000000000001", Refund(at: testNow)) }
        try await withStore(store) { addresses async throws -> Void in
            let answer = try await APIClient(base: addresses.productionServerAPI)
                .get("/inApps/v2/refund/lookup/370000000000002")
            #expect(answer.transactionIDs == ["370000000000001"])
            #expect(answer.json["hasMore"] as? Bool == false)
        }
    }

    @Test func tellsTheLatestPeriodOfEachSubscription() async throws {
        try await withStore(storeWithSubscription()) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let answer = try await client.get("/inApps/v1/subscriptions/370000000000000")
            let group = try #require((answer.json["data"] as? [[String: Any]])?.first)
            let last = try #require((group["lastTransactions"] as? [[String: Any]])?.first)
            #expect(last["originalTransactionId"] as? String == "370000000000100")
            #expect(last["status"] as? Int == 1)
            let period = answer.payload(try #require(last["signedTransactionInfo"] as? String))
            #expect(period["transactionId"] as? String == "370000000000101")
            #expect(period["transactionReason"] as? String == "RENEWAL")
            let renewal = answer.payload(try #require(last["signedRenewalInfo"] as? String))
            #expect(renewal["autoRenewStatus"] as? Int == 1)
            let expired = try await client.get("/inApps/v1/subscriptions/370000000000000?status=2")
            #expect((expired.json["data"] as? [Any])?.isEmpty == true)
            #expect(try await client.get("/inApps/v1/subscriptions/370000000000000?status=9").errorCode == 4_000_031)
        }
    }

    @Test func tellsWhatItNotified() async throws {
        let store = storeWithSubscription()
        store.update { $0.refund("370000000000001", Refund(at: testNow.addingTimeInterval(-60))) }
        let milliseconds = Int(testNow.timeIntervalSince1970) * 1000
        let window: [String: Any] = ["startDate": milliseconds - 30 * 86_400_000, "endDate": milliseconds]
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let path = "/inApps/v1/notifications/history"
            let all = try await client.post(path, window)
            let entries = try #require(all.json["notificationHistory"] as? [[String: Any]])
            let types = entries.compactMap {
                all.payload($0["signedPayload"] as? String ?? "")["notificationType"] as? String
            }
            #expect(types == ["SUBSCRIBED", "ONE_TIME_CHARGE", "ONE_TIME_CHARGE", "DID_RENEW", "REFUND"])
            let refunds = try await client.post(path, window.merging(["notificationType": "REFUND"]) { $1 })
            #expect((refunds.json["notificationHistory"] as? [Any])?.count == 1)
            for (change, code) in [
                (["startDate": milliseconds - 200 * 86_400_000], 4_000_012), (["endDate": 1], 4_000_013),
                (["transactionId": "7", "notificationType": "REFUND"], 4_000_019), (["transactionId": "7"], 4_040_010),
            ] as [([String: Any], Int)] {
                #expect(try await client.post(path, window.merging(change) { $1 }).errorCode == code)
            }
            #expect(try await client.post("\(path)?paginationToken=!", window).errorCode == 4_000_014)
        }
    }

    @Test func notificationsComeInPagesOfTwenty() async throws {
        let milliseconds = Int(testNow.timeIntervalSince1970) * 1000
        let window: [String: Any] = ["startDate": milliseconds - 30 * 86_400_000, "endDate": milliseconds]
        try await withStore(storeWithPurchases(25)) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let first = try await client.post("/inApps/v1/notifications/history", window)
            #expect((first.json["notificationHistory"] as? [Any])?.count == 20)
            let token = try #require(first.json["paginationToken"] as? String)
            let last = try await client.post("/inApps/v1/notifications/history?paginationToken=\(token)", window)
            #expect((last.json["notificationHistory"] as? [Any])?.count == 5)
            #expect(last.json["hasMore"] as? Bool == false)
        }
    }
}
