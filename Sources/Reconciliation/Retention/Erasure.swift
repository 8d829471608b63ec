/// A person's request to be forgotten, as somebody carries it out.
public struct Erasure: Sendable {
    public let userID: String
    public let by: String
    /// Whether the user is erased though something is paid and not delivered.
    public let isEvenOpen: Bool
    public let isDryRun: Bool

    public init(userID: String, by: String, isEvenOpen: Bool = false, isDryRun: Bool = false) {
        self.userID = userID
        self.by = by
        self.isEvenOpen = isEvenOpen
        self.isDryRun = isDryRun
    }
}

/// What an erasure came to.
public enum ErasureOutcome: Hashable, Sendable {
    /// No row names the user.
    case unknown
    /// Nothing was changed, since something is open.
    case open(OpenBusiness)
    /// The apps in which the user did anything; the number of changed rows by table, in the order of the names; and what
    /// stays open, owed to the pseudonym.
    case erased(pseudonym: String, apps: [String], rows: [Rows], open: OpenBusiness)

    /// How many rows of a table were changed.
    public struct Rows: Hashable, Sendable {
        public let table: String
        public let count: Int

        public init(table: String, count: Int) {
            self.table = table
            self.count = count
        }
    }
}

/// What the app may still owe a user.
public struct OpenBusiness: Hashable, Sendable {
    /// Transactions that are paid and not delivered, the oldest purchase first.
    public let transactionIDs: [String]
    /// Receipts that are not verified yet.
    public let waitingReceipts: Int

    public init(transactionIDs: [String], waitingReceipts: Int) {
        self.transactionIDs = transactionIDs
        self.waitingReceipts = waitingReceipts
    }

    public var isEmpty: Bool { transactionIDs.isEmpty && waitingReceipts == 0 }
}
