/// A purchase without a receipt, to be taken into the ledger on the support desk's word.
public struct Adoption: Hashable, Sendable {
    /// A transaction's id, or that of Apple's invoice (`M…`).
    public var id: String
    /// Whose it is.
    public var userID: String
    /// Who says so.
    public var by: String
    public var note: String
    /// The app that is meant, if several apps have a key.
    public var bundleID: BundleID?

    public init(id: String, userID: String, by who: String, note: String, bundleID: BundleID?) {
        self.id = id
        self.userID = userID
        self.by = who
        self.note = note
        self.bundleID = bundleID
    }

    /// What became of one of its transactions.
    public struct Result: Hashable, Sendable {
        /// Whether it is owed now, and if not, why.
        public enum Outcome: String, Hashable, Sendable, CaseIterable {
            /// It is owed from now on.
            case white
            /// It was owed before.
            case alreadyWhite = "already_white"
            case alreadyDelivered = "already_delivered"
            case excluded
            /// Apple has paid the money back.
            case refunded
            /// It was made in the other environment than the app's, where nobody pays.
            case sandbox

            /// Whether it is owed now.
            public var isOwed: Bool { self == .white || self == .alreadyWhite }
        }

        public let key: TransactionKey
        public let outcome: Outcome

        public init(key: TransactionKey, outcome: Outcome) {
            self.key = key
            self.outcome = outcome
        }
    }
}
