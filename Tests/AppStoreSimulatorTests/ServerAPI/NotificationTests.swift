import Foundation
import Testing

@testable import AppStoreSimulator

/// What the store tells the apps' servers by itself.
@Suite struct NotificationTests {
    private static let path = "/inApps/v1/notifications/history"
    private static let now = Int(testNow.timeIntervalSince1970) * 1000
    private static var window: [String: Any] { ["startDate": now - 30 * 86_400_000, "endDate": now] }

    private func entries(_ answer: Response) -> [[String: Any]] {
        answer.json["notificationHistory"] as? [[String: Any]] ?? []
    }

    /// What each notification says, and its transaction.
    private func told(_ answer: Response) -> [(data: [String: Any], type: String, transaction: [String: Any])] {
        entries(answer).map { entry in
            let payload = answer.payload(entry["signedPayload"] as? String ?? "")
            let data = payload["data"] as? [String: Any] ?? [:]
            let transaction = answer.payload(data["signedTransactionInfo"] as? String ?? "")
            return (data, payload["notificationType"] as? String ?? "", transaction)
        }
    }

    /// The pages of all that is asked for, by the transactions on them.
    private func pages(_ client: APIClient, _ fields: [String: Any] = window) async throws -> [[String]] {
        var pages: [[String]] = []
        var token = ""
        repeat {
            let answer = try await client.post("\(Self.path)?paginationToken=\(token)", fields)
            pages.append(told(answer).compactMap { $0.transaction["transactionId"] as? String })
            token = answer.json["paginationToken"] as? String ?? ""
            #expect(answer.json["hasMore"] as? Bool == !token.isEmpty)
        } while !token.isEmpty
        return pages
    }

    @Test func tellsOfRefundsOfEveryKindAndOfComplaints() async throws {
        let store = storeWithPurchases(4)
        store.update {
            $0.refund("370000000000000", Refund(at: testNow - 900, kind: .prorated(35_000)))
            $0.refund("370000000000001", Refund(at: testNow - 800, reversedAt: testNow - 400))
            $0.refund("370000000000002", Refund(at: testNow - 700, kind: .familyRevoke))
            $0.refund("370000000000003", Refund(at: testNow - 600, reason: "1", reversedAt: testNow + 60))
            $0.add(ConsumptionRequest(at: testNow - 500, reason: "FULFILLMENT_ISSUE"), of: "370000000000003")
        }
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let all = told(try await client.post(Self.path, Self.window)).suffix(6)
            #expect(
                all.map(\.type) == [
                    "REFUND", "REFUND", "REVOKE", "REFUND", "CONSUMPTION_REQUEST", "REFUND_REVERSED",
                ])
            #expect(
                all.map { $0.transaction["revocationType"] as? String } == [
                    "REFUND_PRORATED", "REFUND_FULL", "FAMILY_REVOKE", "REFUND_FULL", nil, nil,
                ])
            #expect(
                all.map { $0.transaction["revocationPercentage"] as? Int } == [35_000, 100_000, nil, 100_000, nil, nil])
            #expect(all.compactMap { $0.data["consumptionRequestReason"] as? String } == ["FULFILLMENT_ISSUE"])
            // As things stand now, the second is refunded no more; it was changed last.
            let history = try await client.get("/inApps/v2/history/370000000000000")
            #expect(history.transactionIDs.last == "370000000000001")
            let refunds = try await client.get("/inApps/v2/refund/lookup/370000000000000")
            #expect(refunds.transactionIDs == ["370000000000000", "370000000000002", "370000000000003"])
        }
    }

    @Test func neitherARestoredPurchaseNorAnAccountThatIsGoneIsTold() async throws {
        let store = storeWithPurchases(1)
        store.update {
            let restored = SimulatedTransaction(
                id: "9", originalID: "8", productID: "com.example.game.noads", productType: .nonConsumable,
                purchasedAt: testNow - 60)
            $0.add(StoredPurchase(restored, bundleID: "com.example.game", account: "account-1"))
            let gone = SimulatedTransaction(id: "7", productID: "com.example.game.gems.60", purchasedAt: testNow - 60)
            $0.add(StoredPurchase(gone, bundleID: "com.example.game", account: "account-2"))
            $0.delete(account: "account-2")
        }
        try await withStore(store) { addresses async throws -> Void in
            #expect(try await pages(APIClient(base: addresses.productionServerAPI)) == [["370000000000000"]])
        }
    }

    @Test func givesEachOnceOverManyPagesAndWhatIsNewOnes() async throws {
        let store = SimulatedAppStore(seed: 7, now: { testNow })
        store.update { records in
            records.add(SimulatedApp(bundleID: "com.example.game", seed: 7))
            for number in 0..<1_000 {
                let transaction = SimulatedTransaction(
                    id: String(number), productID: "com.example.game.gems.60",
                    purchasedAt: testNow - Double(60 + number / 3))
                records.add(StoredPurchase(transaction, bundleID: "com.example.game", account: "account-\(number)"))
            }
        }
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let first = try await pages(client)
            #expect(first.map(\.count) == Array(repeating: 20, count: 50))
            #expect(Set(first.joined()).count == 1_000)
            #expect(first.first?.first == "999")
            store.update { $0.refund("5", Refund(at: testNow - 1)) }
            #expect(try await pages(client).last == ["5"])
            let refunds = Self.window.merging(["notificationType": "REFUND"]) { $1 }
            #expect(try await pages(client, refunds) == [["5"]])
        }
    }

    // MARK: Attempts

    private func attempts(_ policy: NoticePolicy, after hours: Double) throws -> [NoticePolicy.Attempt] {
        var records = StoreRecords()
        records.notices = policy
        let notification = try #require(StoreNotification.about([purchase(0, of: 1)], records).first)
        return policy.attempts(of: notification, by: notification.at + hours * 3_600)
    }

    @Test func attemptsAreThoseOfTheSimulatedPresent() throws {
        var policy = NoticePolicy()
        policy.refusedShare = 0
        #expect(try attempts(policy, after: 0).map(\.result) == ["SUCCESS"])
        #expect(try attempts(policy, after: 200).count == 1)
        policy.refusedShare = 1
        let made = try attempts(policy, after: 200)
        #expect(made.map { $0.at.timeIntervalSince(made[0].at) / 3_600 } == [0, 1, 13, 37, 85, 157])
        #expect(made.allSatisfy { !$0.isTaken && !$0.result.isEmpty })
        #expect(try attempts(policy, after: 40) == Array(made.prefix(4)))
        policy.refusedShare = 0
        policy.delayedShare = 1
        let late = try attempts(policy, after: 200)
        #expect((2...6).contains(late.count) && late.last?.isTaken == true && late.count(where: \.isTaken) == 1)
        policy.delayedShare = 0
        policy.deafness = made[0].at - 1..<made[0].at + 10 * 3_600
        #expect(try attempts(policy, after: 200).map(\.isTaken) == [false, false, true])
    }

    @Test func failuresAreThoseThatNoAttemptEnded() async throws {
        let store = storeWithPurchases(100)
        store.update { $0.notices.refusedShare = 0.3 }
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let all = try await client.post(Self.path, Self.window)
            let results = entries(all).map {
                ($0["sendAttempts"] as? [[String: Any]] ?? []).compactMap { $0["sendAttemptResult"] as? String }
            }
            #expect(results.contains(["SUCCESS"]) && results.contains { !$0.contains("SUCCESS") && $0.count > 1 })
            let failed = try await pages(client, Self.window.merging(["onlyFailures": true]) { $1 }).joined()
            #expect((15...45).contains(failed.count))
        }
    }

    @Test func someThereNeverAreAndTheOthersAreLate() {
        var policy = NoticePolicy()
        policy.missingShare = 0.03
        policy.mostDelay = 1_800
        let moments = (0..<2_000).map { policy.moment(of: .refund, String($0), at: testNow) }
        #expect((30...90).contains(moments.count { $0 == nil }))
        #expect(moments.compactMap(\.self).allSatisfy { (0...1_800).contains($0.timeIntervalSince(testNow)) })
        policy.since = testNow + 1
        #expect(policy.moment(of: .refund, "1", at: testNow) == nil)
    }

    // MARK: Errors and faults

    @Test func refusesWhatMakesNoSense() async throws {
        let wrong: [([String: Any?], Int)] = [
            (["startDate": Self.now - 181 * 86_400_000], 4_000_012), (["endDate": 1], 4_000_013),
            (["startDate": nil], 4_000_015), (["endDate": nil], 4_000_016), (["endDate": -1], 4_000_016),
            (["notificationType": "GEMS"], 4_000_018), (["notificationSubtype": "INITIAL_BUY"], 4_000_018),
            (["notificationType": "REFUND", "transactionId": "370000000000000"], 4_000_019),
            (["transactionId": "x"], 4_000_006), (["transactionId": "7"], 4_040_010), (["startDate": "x"], 4_000_000),
        ]
        try await withStore(storeWithPurchases(30)) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            for (change, code) in wrong {
                var fields = Self.window
                for (name, value) in change { fields[name] = value }
                #expect(try await client.post(Self.path, fields).errorCode == code, "\(change)")
            }
            let token = try #require(
                try await client.post(Self.path, Self.window).json["paginationToken"] as? String)
            let other = Self.window.merging(["startDate": Self.now - 86_400_000]) { $1 }
            #expect(try await client.post("\(Self.path)?paginationToken=\(token)", other).errorCode == 4_000_014)
        }
    }

    @Test func aTokenExpiresWhereAskedTo() async throws {
        let store = storeWithPurchases(30, faults: try Faults(parsing: "4000017=1"))
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let first = try await client.post(Self.path, Self.window)
            let token = try #require(first.json["paginationToken"] as? String)
            let next = try await client.post("\(Self.path)?paginationToken=\(token)", Self.window)
            #expect(next.errorCode == 4_000_017)
        }
    }

    @Test func aPageHoldsAnotherAppsNotificationWhereAskedTo() async throws {
        let store = storeWithPurchases(3, faults: try Faults(parsing: "foreign=1"))
        try await withStore(store) { addresses async throws -> Void in
            let answer = try await APIClient(base: addresses.productionServerAPI).post(Self.path, Self.window)
            let apps = told(answer).map { $0.data["bundleId"] as? String }
            #expect(apps == ["com.example.puzzle", "com.example.game", "com.example.game"])
        }
    }

    /// Each page is a request of its own.
    @Test func someOfManyPagesComeTooLate() async throws {
        let store = storeWithPurchases(400, faults: try Faults([.timeout: 0.3], timeoutSeconds: 0.01))
        try await withStore(store) { addresses async throws -> Void in
            #expect(try await pages(APIClient(base: addresses.productionServerAPI)).count == 20)
        }
        #expect((1...15).contains(store.counts.byFault[.timeout] ?? 0))
    }

    // MARK: Who the customer is

    @Test func anAppTransactionStandsForItsCustomer() async throws {
        let store = storeWithPurchases(2)
        store.update {
            $0.refund("370000000000001", Refund(at: testNow - 1))
            let other = SimulatedTransaction(id: "9", productID: "com.example.game.gems.60", purchasedAt: testNow - 60)
            $0.add(StoredPurchase(other, bundleID: "com.example.game", account: "account-2"))
        }
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let info = try await client.get("/inApps/v1/transactions/370000000000000")
            let payload = info.payload(try #require(info.json["signedTransactionInfo"] as? String))
            let id = try #require(payload["appTransactionId"] as? String)
            let both = ["370000000000000", "370000000000001"]
            #expect(try await client.get("/inApps/v2/history/\(id)").transactionIDs == both)
            #expect(try await client.get("/inApps/v2/refund/lookup/\(id)").transactionIDs == [both[1]])
            #expect(try await client.get("/inApps/v1/subscriptions/\(id)").status == 200)
            #expect(try await client.get("/inApps/v1/transactions/\(id)").errorCode == 4_000_048)
            let notified = try await pages(client, Self.window.merging(["transactionId": id]) { $1 })
            #expect(notified == [both + [both[1]]])
            var token = APIClient.Token()
            token.bundleID = "com.example.reader"
            let reader = APIClient(base: addresses.productionServerAPI, token: token.text)
            #expect(try await reader.get("/inApps/v2/history/\(id)").errorCode == 4_040_010)
        }
    }
}
