import Foundation
import Testing

@testable import AppStore

@Suite struct FurtherEndpointsTests {
    @Test func looksUpAnOrder() async throws {
        try await ServerAPIStage.with(script: { chain in
            let signed = try ["1", "2"].map {
                try chain.sign(TestPayload.transaction($0, environment: "Production"))
            }
            return { _, _ in .json(#"{"status":0,"signedTransactions":["\#(signed[0])","\#(signed[1])"]}"#) }
        }) { stage in
            let found = try await stage.client.orderLookup("MK5TTTVWJH").value
            #expect(found?.map(\.transactionID) == ["1", "2"])
            #expect(stage.asked == ["production/inApps/v1/lookup/MK5TTTVWJH"])
        }
    }

    @Test(arguments: [
        (#"{"status":1,"signedTransactions":[]}"#, ServerAPIOutcome<[SignedTransaction]>.notFound(.orderID)),
        (#"{"status":2}"#, .tryAgain(.unreadable("its status 2 is not documented"))),
        (#"{"status":0}"#, .found([])),
    ])
    func readsTheStatusOfAnOrder(body: String, outcome: ServerAPIOutcome<[SignedTransaction]>) async throws {
        try await ServerAPIStage.with(reply: .json(body)) { stage in
            let answer = try await stage.client.orderLookup("MK5TTTVWJH")
            #expect(answer == outcome)
        }
    }

    /// What a person types must not become another path.
    @Test(arguments: ["", "M1/../x", "M 1", "M1?a=b", "M%31"])
    func asksNothingAboutWhatCanBeNoOrderID(text: String) async throws {
        try await ServerAPIStage.with(reply: .unauthorized) { stage in
            let answer = try await stage.client.orderLookup(text)
            #expect(answer == .notFound(.orderID))
            #expect(stage.asked == [])
        }
    }

    /// Sandbox has no such endpoint.
    @Test func neverAsksSandboxAboutOrders() async throws {
        try await ServerAPIStage.with(reply: .unauthorized) { stage in
            guard case .needsConfiguration = try await stage.client.orderLookup("M1") else {
                return #expect(Bool(false))
            }
            #expect(stage.asked == ["production/inApps/v1/lookup/M1"])
        }
    }

    @Test func readsSubscriptionStatuses() async throws {
        try await ServerAPIStage.with(script: { chain in
            let transaction = try chain.sign(TestPayload.transaction("1", environment: "Production"))
            let renewal = try chain.sign(TestPayload.renewalInfo(environment: "Production"))
            return { _, _ in
                .json(
                    """
                    {"environment":"Production","bundleId":"com.example.game","data":[{"subscriptionGroupIdentifier":"20",
                    "lastTransactions":[{"originalTransactionId":"1","status":4,"signedTransactionInfo":"\(transaction)",
                    "signedRenewalInfo":"\(renewal)"}]}]}
                    """)
            }
        }) { stage in
            let statuses = try #require(try await stage.client.subscriptionStatuses(ofCustomerWith: "1").value)
            #expect(statuses.map(\.groupID) == ["20"])
            #expect(statuses.map(\.status) == [4])
            #expect(statuses.first?.transaction?.transactionID == "1")
            #expect(statuses.first?.renewalInfo?.autoRenewStatus == 1)
            #expect(stage.asked == ["production/inApps/v1/subscriptions/1"])
        }
    }

    @Test func refusesRenewalInfoThatIsNotGenuine() async throws {
        try await ServerAPIStage.with(script: { chain in
            let renewal = try chain.sign(TestPayload.renewalInfo(environment: "Sandbox"))
            return { _, _ in .json(#"{"data":[{"lastTransactions":[{"signedRenewalInfo":"\#(renewal)"}]}]}"#) }
        }) { stage in
            let place = "data[0].lastTransactions[0].signedRenewalInfo"
            let answer = try await stage.client.subscriptionStatuses(ofCustomerWith: "1")
            #expect(answer == .unverified(UnverifiedPayload(place: place, error: .environment(found: "Sandbox"))))
        }
    }
}
