import Foundation

/// Up to 20 transactions of a customer, in the order of Apple's answer.
public struct TransactionPage: ServerAPIPage, Hashable {
    /// The transactions, each with its signature.
    public let proofs: [TransactionProof]
    /// Entries that are not Apple's, or not of this app and environment. They must not hide the others.
    public let unverified: [UnverifiedPayload]
    public let environment: ServerEnvironment
    public let hasMore: Bool
    /// Keep that of the last page, to ask on another day for what has changed since.
    public let revision: String?

    public var transactions: [SignedTransaction] { proofs.map(\.transaction) }
    public var continuation: String? { revision }

    /// - Throws: `UnverifiedPayload` if nothing of it is Apple's, `DecodingError` if it is not what Apple documents.
    init(_ body: Data, _ reader: ServerAPIReader) throws {
        let answer = try reader.decode(Body.self, from: body)
        let found = try reader.split(answer.signedTransactions?.map(\.jws))
        proofs = found.proofs
        unverified = found.unverified
        environment = reader.environment
        hasMore = answer.hasMore
        revision = answer.revision
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
