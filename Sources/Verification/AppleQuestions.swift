import AppStore
package import Reconciliation

/// Asks Apple by the App Store Server API about what an app sold before: customers, by what has changed since they were
/// asked about last, and single purchases.
package struct AppleQuestions: Sendable {
    let client: ServerAPIClient
    /// How many pages of one customer's history are read at a time; the rest is for the next time.
    let mostPages: Int

    /// What changed of a customer's purchases: bought, refunded, or that a refund was taken back.
    package struct Changes: Sendable {
        /// Each with Apple's signature over it, by which it can be handed in.
        package fileprivate(set) var purchases: [(verified: VerifiedTransaction, proof: String)] = []
        /// Up to where the history is known by now; `nil` where something before could not be read.
        package var revision: String? { unreadable.isEmpty ? lastRevision : nil }
        private var lastRevision: String?

        /// Nothing that is known.
        package init() {}

        /// What could not be read of it, in a sentence each.
        package fileprivate(set) var unreadable: [String] = []

        /// The customer's `appTransactionId`, where all that they paid for themselves name the same.
        package var account: String? { CustomerHistory(purchases.map(\.verified.transaction)).account }

        fileprivate mutating func take(_ page: TransactionPage) {
            unreadable += page.unverified.map { "\($0)" }
            for (signed, proof) in zip(page.transactions, page.proofs) {
                do {
                    purchases.append((VerifiedTransaction(try Transaction(signed), source: .serverAPI), proof))
                } catch {
                    unreadable.append("\(error)")
                }
            }
            lastRevision = page.revision ?? lastRevision
        }
    }

    /// What asking came to. No text holds anything of a payload, a token or the key.
    package enum Outcome<Answer: Sendable>: Sendable {
        case answer(Answer)
        /// Apple says that there is no such purchase.
        case notKnown
        /// Apple knows the customer's account no longer, and so says nothing of the purchase, and never will.
        case accountGone
        /// Nothing was learnt; another night may fare better.
        case problem(String)
        /// Asking again won't help until somebody mends the setting that the sentence names.
        case needsConfiguration(String)
        /// Nothing was sent: Apple is down.
        case notTried
    }

    /// What changed of the purchases of whoever made this one.
    ///
    /// - Parameters:
    ///   - transactionID: any of the customer's.
    ///   - revision: up to where the history is known; `nil` for all of it. One that Apple does not take any more counts
    ///     as none.
    package func changes(
        ofCustomerWith transactionID: String, after revision: String?, in environment: Environment
    ) async throws(CancellationError) -> Outcome<Changes> {
        var changes = Changes()
        var pages = 0
        for try await outcome in client.history(
            ofCustomerWith: transactionID, after: revision, in: environment.server)
        {
            switch outcome {
            case .found(let page):
                changes.take(page)
                pages += 1
                if pages >= mostPages { return .answer(changes) }
            case .notFound where pages == 0: return .notKnown
            // What was read before holds, and the next time begins behind it.
            case _ where pages > 0: return .answer(changes)
            case .tryAgain(.unknownStatus(Self.invalidRevision, _)) where revision != nil:
                return try await self.changes(ofCustomerWith: transactionID, after: nil, in: environment)
            default: return Outcome(unanswered: outcome)
            }
        }
        return .answer(changes)
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/invalidrequestrevisionerror
    private static let invalidRevision = 4_000_005

    /// A purchase as Apple sees it now, and in which environment; an app of production is also looked for in sandbox,
    /// where testers buy.
    package func purchase(
        _ transactionID: String, in environment: Environment
    ) async throws(CancellationError) -> Outcome<(verified: VerifiedTransaction, environment: Environment)> {
        let asked = try await client.transactionInfo(
            transactionID, in: environment == .production ? nil : .sandbox)
        guard case .found(let signed) = asked else { return Outcome(unanswered: asked) }
        guard signed.transactionID == transactionID else {
            return .problem("Apple answered with another transaction than was asked for")
        }
        do {
            guard let found = signed.environment.flatMap(Environment.init) else {
                return .problem("Apple's answer names an environment that is not known")
            }
            return .answer((VerifiedTransaction(try Transaction(signed), source: .serverAPI), found))
        } catch {
            return .problem("\(error)")
        }
    }
}

extension AppleQuestions.Outcome {
    /// What asking came to where nothing was found.
    fileprivate init<Value>(unanswered outcome: ServerAPIOutcome<Value>) {
        self =
            switch outcome {
            case .found: .problem("Apple's answer could not be used")
            case .notFound(.transactionID), .notFound(.invalidTransactionID): .notKnown
            case .notFound(.account): .accountGone
            case .notFound(let absence): .problem("\(absence)")
            case .unverified(let payload): .problem("\(payload)")
            case .tryAgain(let why): .problem(why.text)
            case .needsConfiguration(let what): .needsConfiguration(what)
            case .notTried: .notTried
            }
    }
}

extension Environment {
    /// As the App Store Server API calls it.
    var server: ServerEnvironment { self == .production ? .production : .sandbox }
}
