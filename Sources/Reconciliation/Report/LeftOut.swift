/// What a run left out because other sessions had it locked: it is still due.
public struct LeftOut: Hashable, Sendable, Codable {
    public var transactions: Set<TransactionID>
    public var receipts: Int
    /// Those that are known by their number: of a bucket that could not be owned they are only counted.
    public var receiptIDs: Set<Int64>
    /// The slices of the inbox that could not be owned.
    public var buckets: Set<Int>
    public var holders: [LockHolder]

    enum CodingKeys: String, CodingKey {
        case transactions, receipts
        case receiptIDs = "receipt_ids"
        case buckets, holders
    }

    public init(
        transactions: Set<TransactionID> = [], receipts: Int = 0, receiptIDs: Set<Int64> = [], buckets: Set<Int> = [],
        holders: [LockHolder] = []
    ) {
        self.transactions = transactions
        self.receipts = receipts
        self.receiptIDs = receiptIDs
        self.buckets = buckets
        self.holders = holders
    }

    public var isEmpty: Bool { transactions.isEmpty && receipts == 0 && buckets.isEmpty }

    /// What and by whom, such as “other sessions' locks stood in the way of 2 receipts (17, 23) and 1 transaction
    /// (2000000847061981), held by session 4711 of iap_app since 2026-11-21T02:14:07Z”; `nil` if nothing was left out.
    public var text: String? {
        guard !isEmpty else { return nil }
        var parts: [String] = []
        if receipts > 0 { parts.append(Self.counted(receipts, "receipt", receiptIDs.sorted().map(String.init))) }
        if !transactions.isEmpty {
            parts.append(Self.counted(transactions.count, "transaction", transactions.sorted().map(\.text)))
        }
        if !buckets.isEmpty {
            parts.append(
                "\(buckets.count == 1 ? "bucket" : "buckets") "
                    + buckets.sorted().map(String.init).joined(separator: ", "))
        }
        return "other sessions' locks stood in the way of \(parts.joined(separator: " and "))\(holders.heldBy)"
    }

    private static func counted(_ count: Int, _ what: String, _ ids: [String]) -> String {
        let named = ids.prefix(Self.named)
        return count.counted(what)
            + (named.isEmpty ? "" : " (\(named.joined(separator: ", "))\(count > named.count ? ", …" : ""))")
    }

    /// The most that are named; the rest are counted.
    private static let named = 5
}
