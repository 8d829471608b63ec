/// A purchase of which no receipt came, to be taken into the ledger on the support desk's word.
public struct Adoption: Hashable, Sendable {
    /// A transaction's id, or that of Apple's invoice (`M…`).
    public var id: String
    /// Whose it is.
    public var userID: String
    /// Who says so.
    public var by: String
    public var note: String
    /// Where several apps have a key: which is meant.
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

/// Which transaction somebody of the support desk speaks of.
public struct DeskSubject: Hashable, Sendable {
    public var transactionID: TransactionID
    /// Where the same id is known in several apps or environments: which is meant.
    public var bundleID: BundleID?
    public var environment: Environment?

    public init(transactionID: TransactionID, bundleID: BundleID? = nil, environment: Environment? = nil) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.environment = environment
    }
}

/// What became of taking a case.
public enum TakingOutcome: Hashable, Sendable {
    case taken
    case freed
    case noOpenCase
    /// Somebody is on it, since then.
    case takenAlready(by: String, since: Date)
    /// The id is known in several places, and which is meant was not said.
    case ambiguous
}

/// A comment of the support desk's on a transaction.
public struct DeskComment: Hashable, Sendable {
    public let at: Date
    public let by: String
    public let text: String

    public init(at: Date, by who: String, text: String) {
        self.at = at
        self.by = who
        self.text = text
    }
}

/// Who of the support desk is on a case.
public struct CaseTaking: Hashable, Sendable {
    public let by: String
    public let since: Date

    public init(by who: String, since: Date) {
        self.by = who
        self.since = since
    }
}
