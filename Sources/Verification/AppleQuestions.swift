import AppStore
import Foundation
package import Reconciliation

/// Asks the App Store Server API about what an app sold before: about customers, for what has changed since they were
/// last asked about, and about single purchases.
package struct AppleQuestions: Sendable {
    let client: ServerAPIClient
    /// How many pages of a customer's history are read at a time; the rest is left for the next time.
    let mostPages: Int

    /// What changed in a customer's purchases: purchases, refunds, and refunds that were reversed.
    package struct Changes: Sendable {
        /// Each purchase once, with Apple's signature over it, as a proof to hand in.
        package fileprivate(set) var purchases: [(verified: VerifiedTransaction, proof: String)] = []
        private var indices: [TransactionID: Int] = [:]
        private var signedAt: [TransactionID: Date] = [:]
        /// How far the history is known now; `nil` if something before could not be read.
        package var revision: String? { unreadable.isEmpty ? lastRevision : nil }
        private var lastRevision: String?

        /// No changes.
        package init() {}

        /// What could not be read of it, a sentence for each.
        package fileprivate(set) var unreadable: [String] = []

        /// The customer's `appTransactionId`, if all purchases that they paid for themselves name the same.
        package var account: String? { CustomerHistory(purchases.map(\.verified.transaction)).account }

        fileprivate mutating func take(_ page: TransactionPage) {
            unreadable += page.unverified.map { "\($0)" }
            for proof in page.proofs {
                do {
                    let signed = proof.transaction
                    let transaction = try Transaction(signed)
                    guard !signed.isOlder(than: signedAt[transaction.id]) else { continue }
                    signedAt[transaction.id] = signed.signedDate
                    add(VerifiedTransaction(transaction, source: .serverAPI), proof.jws)
                } catch {
                    unreadable.append("\(error)")
                }
            }
            lastRevision = page.revision ?? lastRevision
        }

        /// Adds a purchase. What changes while the pages are read comes once more, after the others, and behind the last
        /// revision Apple tells of that change no more.
        private mutating func add(_ verified: VerifiedTransaction, _ proof: String) {
            if let index = indices[verified.transaction.id] {
                purchases[index] = (verified, proof)
            } else {
                indices[verified.transaction.id] = purchases.count
                purchases.append((verified, proof))
            }
        }
    }

    /// The result of asking.
    package enum Outcome<Answer: Sendable>: Sendable {
        case answer(Answer)
        /// Apple says that there is no such purchase.
        case notKnown
        /// Apple no longer knows the customer's account, so it will never say anything of the purchase.
        case accountGone
        case unanswered(Unanswered)
    }

    /// Why nothing was learnt. No text holds anything of a payload, a token or the key.
    package enum Unanswered: Sendable {
        /// Another night may bring more.
        case problem(String)
        /// Apple could not be reached, which says nothing of the question.
        case unreached(String)
        /// Asking again won't help until somebody corrects the setting that the sentence names.
        case needsConfiguration(String)
        /// Nothing was sent: Apple is down.
        case notTried
    }

    /// Asks what changed in the purchases of the customer who made this one.
    ///
    /// - Parameters:
    ///   - transactionID: any of the customer's.
    ///   - revision: how far the history is known; `nil` to read all of it. If Apple no longer takes it, all is read,
    ///     too.
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
            // What was read so far is kept, and the next time begins after it.
            case _ where pages > 0: return .answer(changes)
            case .tryAgain(.unknownStatus(Self.invalidRevision, _)) where revision != nil:
                return try await self.changes(ofCustomerWith: transactionID, after: nil, in: environment)
            default: return Outcome(without: outcome)
            }
        }
        return .answer(changes)
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/invalidrequestrevisionerror
    private static let invalidRevision = 4_000_005

    /// Asks how Apple sees a purchase now, and in which environment. A purchase in an app of production is also looked
    /// for in sandbox, where testers buy.
    package func purchase(
        _ transactionID: String, in environment: Environment
    ) async throws(CancellationError) -> Outcome<(verified: VerifiedTransaction, environment: Environment)> {
        let asked = try await client.transactionInfo(
            transactionID, in: environment == .production ? nil : .sandbox)
        guard case .found(let signed) = asked else { return Outcome(without: asked) }
        guard signed.transactionID == transactionID else {
            return .unanswered(.problem("Apple answered with another transaction than was asked for"))
        }
        do {
            guard let found = signed.environment.flatMap(Environment.init) else {
                return .unanswered(.problem("Apple's answer names an environment that is not known"))
            }
            return .answer((VerifiedTransaction(try Transaction(signed), source: .serverAPI), found))
        } catch {
            return .unanswered(.problem("\(error)"))
        }
    }
}

extension AppleQuestions.Outcome {
    /// The result of asking, if nothing was found.
    fileprivate init<Value>(without outcome: ServerAPIOutcome<Value>) {
        self =
            switch outcome {
            case .found: .unanswered(.problem("Apple's answer could not be used"))
            case .notFound(.transactionID), .notFound(.invalidTransactionID): .notKnown
            case .notFound(.account): .accountGone
            case .notFound(let absence): .unanswered(.problem("\(absence)"))
            case .unverified(let payload): .unanswered(.problem("\(payload)"))
            case .tryAgain(let why):
                .unanswered(ReceiptProblem(why) == .appleUnreachable ? .unreached(why.text) : .problem(why.text))
            case .needsConfiguration(let what): .unanswered(.needsConfiguration(what))
            case .notTried: .unanswered(.notTried)
            }
    }
}

extension Environment {
    /// The environment as the App Store Server API calls it.
    var server: ServerEnvironment { self == .production ? .production : .sandbox }
}
