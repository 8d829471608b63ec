import Foundation

/// The answer of Get All Subscription Statuses: the latest transaction of each of the customer's subscriptions.
struct SubscriptionStatuses {
    /// Apple's numbers; a simulated subscription is never in a billing retry or its grace.
    enum Status: Int64, CaseIterable {
        case active = 1
        case expired = 2
        case billingRetry = 3
        case billingGrace = 4
        case revoked = 5
    }

    private let api: ServerAPI
    private let latest: [ServerAPI.Known]

    init(_ api: ServerAPI, _ request: ServerAPIRequest) throws(ServerAPIError) {
        var wanted: Set<Status> = []
        for text in request.all("status") {
            guard let status = Int64(text).flatMap(Status.init) else { throw .invalidStatus }
            wanted.insert(status)
        }
        let periods = try api.purchases(ofCustomer: request.id).filter(\.transaction.isAutoRenewable)
        let byOriginal = Dictionary(grouping: periods, by: \.transaction.originalID)
        self.api = api
        latest = byOriginal.values.compactMap { $0.max { $0.transaction.purchasedAt < $1.transaction.purchasedAt } }
            .filter { wanted.isEmpty || wanted.contains(api.status(of: $0)) }
            .sorted { $0.transaction.id < $1.transaction.id }
    }

    func answer() -> Answer {
        Answer { answer in
            answer.field("environment", api.environment.rawValue)
            answer.field("bundleId", api.app.bundleID)
            if api.environment == .production { answer.field("appAppleId", number: api.app.adamID) }
            answer.array("data") { groups in
                guard !latest.isEmpty else { return }
                groups.object { group in
                    group.field("subscriptionGroupIdentifier", SimulatedApp.subscriptionGroup(of: api.app.bundleID))
                    group.array("lastTransactions") { list in
                        for known in latest { list.object { write(known, to: &$0) } }
                    }
                }
            }
        }
    }

    private func write(_ known: ServerAPI.Known, to item: inout JSONText) {
        item.field("originalTransactionId", known.transaction.originalID)
        item.field("status", number: api.status(of: known).rawValue)
        item.field("signedTransactionInfo", api.signed(known))
        item.field("signedRenewalInfo", api.signedRenewal(of: known))
    }
}

extension ServerAPI {
    func status(of known: Known) -> SubscriptionStatuses.Status {
        if known.refund != nil { return .revoked }
        return known.transaction.expiresAt.map { $0 <= now } ?? false ? .expired : .active
    }

    /// What the store will do when the period ends (`JWSRenewalInfoDecodedPayload`).
    func signedRenewal(of known: Known, at moment: Date? = nil) -> String {
        let transaction = known.transaction
        let renews = records.subscription(transaction.originalID, in: environment)?.renews ?? false
        return signer.sign { payload in
            payload.field("originalTransactionId", transaction.originalID)
            payload.field("autoRenewProductId", transaction.productID)
            payload.field("productId", transaction.productID)
            payload.field("autoRenewStatus", number: renews ? 1 : 0)
            if status(of: known) == .expired { payload.field("expirationIntent", number: 1) }
            payload.field("isInBillingRetryPeriod", bool: false)
            payload.field("signedDate", number: (moment ?? now).unixMilliseconds)
            payload.field("environment", environment.rawValue)
            payload.field("recentSubscriptionStartDate", number: transaction.originalPurchasedAt.unixMilliseconds)
            if let expiresAt = transaction.expiresAt {
                payload.field("renewalDate", number: expiresAt.unixMilliseconds)
            }
        }
    }
}
