import Foundation

extension ServerAPIClient {
    /// An id that no transaction has.
    public static let nobodysTransactionID = "1"

    /// Get Transaction Info: one transaction as it stands now, refunds included.
    ///
    /// - Parameter transactionID: any of Apple's ids of a transaction, original or not.
    public func transactionInfo(
        _ transactionID: String, in environment: ServerEnvironment? = nil
    ) async throws(CancellationError) -> ServerAPIOutcome<SignedTransaction> {
        try await transactionProof(transactionID, in: environment).map(\.transaction)
    }

    /// Get Transaction Info, with the answer as it was sent.
    public func transactionProof(
        _ transactionID: String, in environment: ServerEnvironment? = nil
    ) async throws(CancellationError) -> ServerAPIOutcome<TransactionProof> {
        guard ServerAPIRequest.isIdentifier(transactionID) else { return .notFound(.invalidTransactionID) }
        return try await ask(.transactionInfo(of: transactionID), in: environment) { body, reader in
            try reader.proof(
                try reader.decode(TransactionInfoBody.self, from: body).signedTransactionInfo,
                at: "signedTransactionInfo")
        }
    }

    /// Get Transaction History (version 2): everything that the customer of this transaction ever bought in the app,
    /// including finished consumables, refunded and revoked ones, the oldest change first.
    ///
    /// - Parameters:
    ///   - transactionID: any one of the customer's transactions.
    ///   - revision: the revision of the last page that is known already.
    public func history(
        ofCustomerWith transactionID: String, after revision: String? = nil, in environment: ServerEnvironment? = nil
    ) -> ServerAPIPages<TransactionPage> {
        ServerAPIPages(after: revision, in: environment) { (after, environment) async throws(CancellationError) in
            try await historyPage(ofCustomerWith: transactionID, after: after, in: environment)
        }
    }

    /// One page of Get Transaction History (version 2).
    public func historyPage(
        ofCustomerWith transactionID: String, after revision: String? = nil, in environment: ServerEnvironment? = nil
    ) async throws(CancellationError) -> ServerAPIOutcome<TransactionPage> {
        guard ServerAPIRequest.isIdentifier(transactionID) else { return .notFound(.invalidTransactionID) }
        // Only in ascending order does the last revision stand for everything that is known.
        let request = ServerAPIRequest(
            .history, path: "/inApps/v2/history/\(transactionID)",
            query: [("revision", revision), ("sort", "ASCENDING")])
        return try await ask(request, in: environment) { try TransactionPage($0, $1) }
    }

    /// Get Refund History (version 2): what was refunded to the customer of this transaction.
    public func refundHistory(
        ofCustomerWith transactionID: String, after revision: String? = nil, in environment: ServerEnvironment? = nil
    ) -> ServerAPIPages<TransactionPage> {
        ServerAPIPages(after: revision, in: environment) { (after, environment) async throws(CancellationError) in
            guard ServerAPIRequest.isIdentifier(transactionID) else { return .notFound(.invalidTransactionID) }
            let request = ServerAPIRequest(
                .refundHistory, path: "/inApps/v2/refund/lookup/\(transactionID)", query: [("revision", after)])
            return try await ask(request, in: environment) { try TransactionPage($0, $1) }
        }
    }

    /// Look Up Order ID: the transactions of an order, whose id (`M…`) is on the customer's invoice. Production only:
    /// sandbox sends no invoices.
    public func orderLookup(
        _ orderID: String
    ) async throws(CancellationError) -> ServerAPIOutcome<[SignedTransaction]> {
        try await orderProofs(orderID).map { $0.map(\.transaction) }
    }

    /// Look Up Order ID, with the answer as it was sent.
    public func orderProofs(
        _ orderID: String
    ) async throws(CancellationError) -> ServerAPIOutcome<[TransactionProof]> {
        guard ServerAPIRequest.isIdentifier(orderID) else { return .notFound(.orderID) }
        let request = ServerAPIRequest(.orderLookup, path: "/inApps/v1/lookup/\(orderID)")
        return try await ask(request, in: .production) { body, reader in
            let answer = try reader.decode(OrderLookupBody.self, from: body)
            switch answer.status {
            case 0: return try reader.proofs(answer.signedTransactions)
            case 1: throw ServerAPIAbsence.orderID
            default: throw UnreadableAnswer(text: "its status \(answer.status) is not documented")
            }
        }
    }
}

/// A transaction that Apple signed, decoded and as it was sent.
public struct TransactionProof: Sendable, Hashable {
    public let transaction: SignedTransaction
    /// The JWS: a proof, like one that a client uploads.
    public let jws: String
}

private struct TransactionInfoBody: Decodable {
    let signedTransactionInfo: String
}

private struct OrderLookupBody: Decodable {
    let status: Int
    let signedTransactions: [String]?
}
