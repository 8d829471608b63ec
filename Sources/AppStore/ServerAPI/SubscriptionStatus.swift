import Foundation

/// The state of one subscription of a customer.
public struct SubscriptionStatus: Sendable, Hashable {
    public var groupID: String?
    public var originalTransactionID: String?
    /// `1` active, `2` expired, `3` in billing retry, `4` in grace, `5` revoked, or a later value.
    public var status: Int64?
    public var transaction: SignedTransaction?
    public var renewalInfo: SignedRenewalInfo?
}

extension ServerAPIClient {
    /// Get All Subscription Statuses: every subscription that the customer of this transaction ever had in the app.
    public func subscriptionStatuses(
        ofCustomerWith transactionID: String, in environment: ServerEnvironment? = nil
    ) async throws(CancellationError) -> ServerAPIOutcome<[SubscriptionStatus]> {
        guard ServerAPIRequest.isIdentifier(transactionID) else { return .notFound(.invalidTransactionID) }
        let request = ServerAPIRequest(.subscriptionStatuses, path: "/inApps/v1/subscriptions/\(transactionID)")
        return try await ask(request, in: environment) { body, reader in
            try SubscriptionStatus.read(body, reader)
        }
    }
}

extension SubscriptionStatus {
    fileprivate static func read(_ body: Data, _ reader: ServerAPIReader) throws -> [SubscriptionStatus] {
        var statuses: [SubscriptionStatus] = []
        for (index, group) in try reader.decode(Body.self, from: body).data.enumerated() {
            for (last, entry) in group.lastTransactions.enumerated() {
                let place = "data[\(index)].lastTransactions[\(last)]"
                statuses.append(
                    SubscriptionStatus(
                        groupID: group.subscriptionGroupIdentifier,
                        originalTransactionID: entry.originalTransactionId, status: entry.status,
                        transaction: try entry.signedTransactionInfo.map {
                            try reader.transaction($0, at: "\(place).signedTransactionInfo")
                        },
                        renewalInfo: try entry.signedRenewalInfo.map {
                            try reader.renewalInfo($0, at: "\(place).signedRenewalInfo")
                        }))
            }
        }
        return statuses
    }

    private struct Body: Decodable {
        let data: [Group]

        struct Group: Decodable {
            let subscriptionGroupIdentifier: String?
            let lastTransactions: [Entry]
        }

        struct Entry: Decodable {
            let originalTransactionId: String?
            let status: Int64?
            let signedTransactionInfo: String?
            let signedRenewalInfo: String?
        }
    }
}
