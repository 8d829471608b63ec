/// How many receipts a batch may hold, by the size and the contents of those before. A small batch costs too much: its
/// statements take as long as some hundred small receipts. A large one does, too: its receipts, perhaps with years of
/// purchases, are held in memory, several batches at a time, and are one database transaction.
struct BatchSize {
    private static let wantedBytes = 1_500_000
    private static let wantedTransactions = 2_500
    /// The size of the first batch, when nothing is known yet.
    static let first = 128

    /// The most, whatever the receipts are.
    let ceiling: Int
    private var bytesOfReceipt: Int?
    private var transactionsOfReceipt: Int?

    init(ceiling: Int) {
        self.ceiling = ceiling
    }

    var receipts: Int {
        let bySize = bytesOfReceipt.map { Self.wantedBytes / $0 } ?? Self.first
        let byContents = transactionsOfReceipt.map { Self.wantedTransactions / $0 } ?? bySize
        return max(1, min(bySize, byContents, ceiling))
    }

    /// Looks at a batch that was fetched; an empty one tells nothing.
    mutating func learn(payloadBytes: Int, of receipts: Int) {
        if receipts > 0 { bytesOfReceipt = max(1, payloadBytes / receipts) }
    }

    /// Looks at what was in a batch that was verified.
    mutating func learn(transactions: Int, of receipts: Int) {
        if receipts > 0 { transactionsOfReceipt = max(1, transactions / receipts) }
    }
}
