/// What Apple said of an id that the ledger alone could not answer for.
public enum AppleAnswer: Hashable, Sendable {
    /// The ledger's answer was enough.
    case notNeeded
    /// Apple could not be asked, for the reason given in a sentence.
    case notAsked(String)
    /// What each app's App Store Server API answered.
    case asked([Answer])

    /// One app's answer.
    public struct Answer: Hashable, Sendable {
        public let bundleID: BundleID
        public let finding: Finding

        public init(bundleID: BundleID, finding: Finding) {
            self.bundleID = bundleID
            self.finding = finding
        }
    }

    /// What one app's App Store Server API told.
    public enum Finding: Hashable, Sendable {
        case found([ApplesTransaction])
        /// Apple knows none, as it said in a sentence.
        case notFound(String)
        /// It was asked, and nothing was learnt, for the reason given in a sentence.
        case failed(String)
        /// It can't be asked for this app, for the reason given in a sentence.
        case notAsked(String)

        var transactions: [ApplesTransaction] {
            if case .found(let transactions) = self { transactions } else { [] }
        }

        var isNo: Bool {
            if case .notFound = self { true } else { false }
        }
    }

    /// Everything that Apple told.
    public var transactions: [ApplesTransaction] {
        answers.flatMap(\.finding.transactions)
    }

    /// Whether every app's answer was that there is no such id.
    public var isNo: Bool {
        !answers.isEmpty && answers.allSatisfy(\.finding.isNo)
    }

    private var answers: [Answer] {
        if case .asked(let answers) = self { answers } else { [] }
    }
}

/// A transaction as Apple tells of it now.
public struct ApplesTransaction: Hashable, Sendable {
    public let key: TransactionKey
    public let transaction: Transaction
    /// As Apple signed it.
    public let proof: String

    public init(key: TransactionKey, transaction: Transaction, proof: String = "") {
        self.key = key
        self.transaction = transaction
        self.proof = proof
    }
}
