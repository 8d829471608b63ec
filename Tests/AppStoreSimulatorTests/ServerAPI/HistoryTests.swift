import AppStoreSimulator
import SimulatedWorld
import Foundation
import Synchronization
import Testing

@Suite struct HistoryTests {
    private static let path = "/inApps/v2/history/370000000000003"

    private func ids(_ numbers: some Sequence<Int>) -> [String] {
        numbers.map { String(370_000_000_000_000 + $0) }
    }

    @Test func givesTwentyAPageUntilTheLast() async throws {
        try await withStore(storeWithPurchases(45)) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            var revision = ""
            var pages: [[String]] = []
            for _ in 0..<3 {
                let page = try await client.get("\(Self.path)?revision=\(revision)")
                #expect(page.status == 200)
                #expect(page.json["bundleId"] as? String == "com.example.game")
                #expect(page.json["environment"] as? String == "Production")
                #expect(page.json["hasMore"] as? Bool == (pages.count < 2))
                pages.append(page.transactionIDs)
                revision = try #require(page.json["revision"] as? String)
            }
            #expect(pages == [ids(0..<20), ids(20..<40), ids(40..<45)])
            let behind = try await client.get("\(Self.path)?revision=\(revision)")
            #expect(behind.transactionIDs.isEmpty && behind.json["hasMore"] as? Bool == false)
        }
    }

    @Test func aKeptRevisionBringsWhatHappenedSince() async throws {
        let clock = Mutex(testNow)
        let store = storeWithPurchases(5) { clock.withLock { $0 } }
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let first = try await client.get(Self.path)
            let revision = try #require(first.json["revision"] as? String)
            store.update {
                $0.add(purchase(30, of: 5))
                $0.refund("370000000000001", Refund(at: testNow.addingTimeInterval(3_600)))
            }
            #expect(try await client.get("\(Self.path)?revision=\(revision)").transactionIDs.isEmpty)
            clock.withLock { $0 += 2 * 86_400 }
            let since = try await client.get("\(Self.path)?revision=\(revision)")
            #expect(since.transactionIDs == ids([30, 1]) || since.transactionIDs == ids([1, 30]))
            let refunded = (since.json["signedTransactions"] as? [String] ?? []).map(since.payload)
            #expect(refunded.contains { $0["revocationReason"] as? Int == 0 })
        }
    }

    @Test func sortsAndFilters() async throws {
        let store = storeWithPurchases(4)
        store.update {
            $0.refund("370000000000002", Refund(at: testNow.addingTimeInterval(-60), reason: "1"))
            let lasting = SimulatedTransaction(
                id: "370000000000009", productID: "com.example.game.noads", productType: .nonConsumable,
                purchasedAt: testNow.addingTimeInterval(-3_600), isFamilyShared: true)
            $0.add(StoredPurchase(lasting, bundleID: "com.example.game", account: "account-1"))
        }
        let start = Int(testNow.timeIntervalSince1970 - 86_400 - 7_200) * 1000
        let expected: [(String, [Int])] = [
            ("sort=DESCENDING", [2, 9, 3, 1, 0]), ("productType=NON_CONSUMABLE", [9]),
            ("productType=CONSUMABLE&productType=NON_RENEWABLE", [0, 1, 3, 2]), ("revoked=true", [2]),
            ("revoked=false", [0, 1, 3, 9]), ("inAppOwnershipType=FAMILY_SHARED", [9]),
            ("productId=com.example.game.noads", [9]), ("startDate=\(start)", [3, 9, 2]),
            ("startDate=\(start)&endDate=\(start + 3_600_000)", [3, 2]),
        ]
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            for (query, numbers) in expected {
                #expect(try await client.get("\(Self.path)?\(query)").transactionIDs == ids(numbers), "\(query)")
            }
        }
    }

    @Test(arguments: [
        ("sort=UP", 4_000_021), ("productType=GEMS", 4_000_022), ("revision=x", 4_000_005),
        ("startDate=yesterday", 4_000_015), ("endDate=-1", 4_000_016), ("revoked=maybe", 4_000_030),
        ("inAppOwnershipType=MINE", 4_000_026), ("startDate=2&endDate=1", 4_000_013),
    ])
    func refusesWhatMakesNoSense(query: String, code: Int) async throws {
        let answer = try await withStore(storeWithPurchases(5)) {
            try await APIClient(base: $0.productionServerAPI).get("\(Self.path)?\(query)")
        }
        #expect(answer.status == 400)
        #expect(answer.errorCode == code)
    }

    /// S09 and the like: of the purchase that was lost no receipt ever came; any other of the customer's leads to it.
    @Test func tellsOfWhatCameInNoReceipt() async throws {
        let settings = try WorldSettings(seed: 7, customers: 1_000, days: 5, now: testNow)
        let world = World(settings)
        let hidden = world.truth().lostWithoutReceipt
        #expect(hidden.contains { $0.scenario == "S09" })
        let store = SimulatedAppStore(seed: 7, records: world.records, now: { testNow })
        try await withStore(store) { addresses async throws -> Void in
            for order in hidden {
                let known = try #require(world.otherPurchase(than: order))
                var token = APIClient.Token()
                token.bundleID = order.bundleID
                let client = APIClient(base: addresses.productionServerAPI, token: token.text)
                let history = try await client.get("/inApps/v2/history/\(known)?sort=DESCENDING")
                #expect(history.transactionIDs.contains(order.transactionID))
            }
        }
    }
}
