import Foundation

/// Up to 20 transactions of a customer, in the order of Apple's answer.
public struct TransactionPage: ServerAPIPage, Hashable {
    public var transactions: [SignedTransaction]
    /// Each of them as it was sent: a proof, like one that a client uploads.
    public var proofs: [String]
    /// Entries that are not Apple's, or not of this app and environment. They must not hide the others.
    public var unverified: [UnverifiedPayload]
    public var environment: ServerEnvironment
    public var hasMore: Bool
    /// Keep that of the last page, to ask on another day for what has changed since.
    public var revision: String?

    public var continuation: String? { revision }

    public init(
        transactions: [SignedTransaction], proofs: [String] = [], unverified: [UnverifiedPayload] = [],
        environment: ServerEnvironment, hasMore: Bool, revision: String?
    ) {
        self.transactions = transactions
        self.proofs = proofs
        self.unverified = unverified
        self.environment = environment
        self.hasMore = hasMore
        self.revision = revision
    }

    /// - Throws: `UnverifiedPayload` if nothing of it is Apple's, `DecodingError` if it is not what Apple documents.
    init(_ body: Data, _ reader: ServerAPIReader) throws {
        let answer = try reader.decode(Body.self, from: body)
        let found = try reader.split(answer.signedTransactions?.map(\.jws))
        self.init(
            transactions: found.transactions, proofs: found.proofs, unverified: found.unverified,
            environment: reader.environment, hasMore: answer.hasMore, revision: answer.revision)
    }

    private struct Body: Decodable {
        let hasMore: Bool
        let revision: String?
        /// Left out if there is none.
        let signedTransactions: [Item]?
    }

    /// An entry. Whatever it holds, the others are still decoded.
    private struct Item: Decodable {
        /// Empty if it is no text.
        let jws: String

        init(from decoder: any Decoder) {
            jws = (try? decoder.singleValueContainer().decode(String.self)) ?? ""
        }
    }
}
