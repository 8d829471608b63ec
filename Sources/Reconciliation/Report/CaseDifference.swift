public import Foundation

/// What became of the cases between the ends of two runs.
public struct CaseDifferences: Hashable, Sendable {
    public let from, to: RunMoment
    /// In the order of their transactions.
    public let cases: [CaseDifference]

    public init(from: RunMoment, to: RunMoment, cases: [CaseDifference]) {
        self.from = from
        self.to = to
        self.cases = cases
    }
}

/// A run, and the moment that it took for the present.
public struct RunMoment: Hashable, Sendable {
    public let runID: Int64
    public let now: Date

    public init(runID: Int64, now: Date) {
        self.runID = runID
        self.now = now
    }
}

/// A case that has changed from the end of an earlier run to the end of a later one.
public struct CaseDifference: Hashable, Sendable {
    public let key: TransactionKey
    public let change: Change

    /// What became of the case.
    public enum Change: Hashable, Sendable {
        case opened(Judgement)
        case closed(Closing, was: Judgement)
        case judgedOtherwise(from: Judgement, to: Judgement)
    }

    /// What a run made of a case.
    public struct Judgement: Hashable, Sendable {
        public let likelihood: Likelihood
        public let reasons: [Reason]
        public let ownerUserIDs: [String]

        public init(likelihood: Likelihood, reasons: [Reason], ownerUserIDs: [String]) {
            self.likelihood = likelihood
            self.reasons = reasons
            self.ownerUserIDs = ownerUserIDs
        }
    }

    /// How a case ended, by the word that the audit trail has for it.
    public struct Closing: Hashable, Sendable {
        public let how: String
        public let who: String
        public let at: Date

        public init(how: String, who: String, at: Date) {
            self.how = how
            self.who = who
            self.at = at
        }
    }

    public init(key: TransactionKey, change: Change) {
        self.key = key
        self.change = change
    }
}
