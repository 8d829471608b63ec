import AppStore
import Foundation
import HTTP
import Testing

@testable import AppStoreSimulator

/// The API as the job's own client sees it.
@Suite struct JobClientTests {
    private func withClient(
        _ store: SimulatedAppStore, _ body: (ServerAPIClient) async throws -> Void
    ) async throws {
        try await withStore(store) { addresses async throws -> Void in
            let roots = try TrustRoots.none.adding(contentsOf: store.rootCertificatesPEM.utf8)
            var settings = ServerAPISettings()
            settings.production = addresses.productionServerAPI
            settings.sandbox = addresses.sandboxServerAPI
            let client = ServerAPIClient(
                http: try HTTPClient(),
                settings: settings,
                credentials: ServerAPICredentials(
                    AppStoreConnectCredentials(
                        issuerID: APIKey.issuerID, keyID: APIKey.keyID,
                        key: try AppStoreConnectKey(file: store.apiKey.privateKeyPEM.utf8)),
                    bundleID: "com.example.game"),
                verifier: JWSVerifier(roots: roots))
            try await body(client)
        }
    }

    @Test func readsAHistoryOverSeveralPages() async throws {
        try await withClient(storeWithPurchases(45)) { client in
            var ids: [String?] = []
            var pages = 0
            for try await outcome in client.history(ofCustomerWith: "370000000000007") {
                ids += try #require(outcome.value).transactions.map(\.transactionID)
                pages += 1
            }
            #expect(pages == 3)
            #expect(ids == (0..<45).map { String(370_000_000_000_000 + $0) })
        }
    }

    @Test func findsSandboxTransactionsAfterProductions() async throws {
        let store = storeWithPurchases(1)
        store.update { $0.add(purchase(5, of: 1, in: .sandbox)) }
        try await withClient(store) { client in
            let found = try await client.transactionInfo("370000000000005")
            #expect(found.value?.environment == "Sandbox")
            #expect(found.value?.priceMilliunits == 990)
            #expect(try await client.transactionInfo("370000000000006") == .notFound(.transactionID))
        }
    }

    @Test func takesNothingThatAStrangerSigned() async throws {
        let store = storeWithPurchases(3, faults: try Faults(parsing: "forged=1"))
        try await withClient(store) { client in
            let query = NotificationQuery(start: testNow.addingTimeInterval(-5 * 86_400), end: testNow)
            for try await outcome in client.notificationHistory(query, in: .production) {
                let page = try #require(outcome.value)
                #expect(page.entries.isEmpty && page.unverified.count == 3)
            }
            guard case .unverified = try await client.transactionInfo("370000000000001") else {
                Issue.record("a forged transaction was read")
                return
            }
        }
    }

    @Test func readsNotificationsAndOrders() async throws {
        try await withClient(storeWithPurchases(3)) { client in
            let orders = try await client.orderLookup(purchase(2, of: 3).orderID)
            #expect(orders.value?.map(\.transactionID) == ["370000000000002"])
            let query = NotificationQuery(start: testNow.addingTimeInterval(-5 * 86_400), end: testNow)
            var types: [String?] = []
            for try await outcome in client.notificationHistory(query, in: .production) {
                types += try #require(outcome.value).entries.map(\.notification.type)
            }
            #expect(types == ["ONE_TIME_CHARGE", "ONE_TIME_CHARGE", "ONE_TIME_CHARGE"])
        }
    }
}
