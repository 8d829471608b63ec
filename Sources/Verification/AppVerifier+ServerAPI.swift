import AppStore
import Foundation
import Reconciliation

extension AppVerifier {
    /// Asks Apple about a proof. The signature says which purchases are in the proof, or whose it is; Apple says how
    /// they and the customer's others stand.
    func ask(
        _ client: ServerAPIClient, _ payload: String, _ users: [String]
    ) async throws(CancellationError) -> Judgement {
        let proof = offline.check(payload, for: settings)
        guard proof.signature == .valid, let contents = proof.contents, let customer = proof.customer else {
            return try await withoutCustomer(proof, payload)
        }
        // This app's key can't ask about another app's receipt, which screening tells apart.
        guard contents.bundleID == nil || contents.bundleID == settings.app.bundleID else {
            return Judgement(.verified(contents), .valid)
        }
        return Judgement(try await history(of: customer, client, contents, users: users), .valid)
    }

    /// The judgement of a proof that leads to no customer to ask about, or that nothing vouches for.
    private func withoutCustomer(
        _ proof: OfflineReceipt, _ payload: String
    ) async throws(CancellationError) -> Judgement {
        let mayAskOtherwise = settings.verification == .auto && !proof.isEmpty && !proof.isJWS
        return mayAskOtherwise ? try await askVerifyReceipt(payload) : Judgement(proof)
    }

    /// Everything that the customer bought: the proof's purchases as Apple sees them now, and those that no proof held.
    private func history(
        of customer: CustomerID, _ client: ServerAPIClient, _ contents: VerifiedReceipt, users: [String]
    ) async throws(CancellationError) -> ReceiptVerdict {
        let environment: ServerEnvironment = contents.environment == .production ? .production : .sandbox
        let told = try await histories.history(
            of: [customer] + contents.transactions.dropFirst().map { .transaction($0.transaction.id) },
            in: environment, users: users
        ) { () async throws(CancellationError) in
            let answer = try await ask(client, about: customer, in: environment)
            // Apple does not know a purchase for hours, but may know another of the same receipt.
            guard case .notKnown = answer, let earlier = contents.earliest(besides: customer) else {
                return answer.unless(isOfAnotherThan: customer, contents)
            }
            return try await ask(client, about: earlier, in: environment).unless(isOfAnotherThan: earlier, contents)
        }
        switch told {
        case .history(let history):
            var receipt = contents
            receipt.take(history)
            return .verified(receipt)
        case .notKnown where contents.transactions.isEmpty:
            return .problem(.noTransactions, "genuine, but Apple does not know the customer to whom it leads")
        // This happens for hours after a purchase. Until Apple knows it, its signature stands.
        case .notKnown: return .verified(contents)
        case .ofAnother:
            var receipt = contents
            receipt.unreadable.append("Apple answered with another customer's history than was asked for")
            return .verified(receipt)
        case .problem(let verdict): return verdict
        }
    }

    private func ask(
        _ client: ServerAPIClient, about customer: CustomerID, in environment: ServerEnvironment
    ) async throws(CancellationError) -> CustomerHistories.Answer {
        var history = CustomerHistory()
        var pages = 0
        for try await outcome in client.history(ofCustomerWith: customer.text, in: environment) {
            switch outcome {
            case .found(let page):
                history.take(page)
                pages += 1
                guard page.hasMore, pages >= settings.mostHistoryPages else { continue }
                history.unreadable.append("the customer's history goes on after \(pages) pages, which were taken")
                return .history(history)
            case .notFound(.account) where pages == 0: return .problem(Self.problem(outcome))
            case .notFound where pages == 0: return .notKnown
            case .notFound, .unverified, .tryAgain(.unreadable):
                guard pages > 0 else { return .problem(Self.problem(outcome)) }
                history.unreadable.append(
                    "page \(pages + 1) of the customer's history could not be read; those before were")
                return .history(history)
            case .tryAgain, .needsConfiguration, .notTried: return .problem(Self.problem(outcome))
            }
        }
        return .history(history)
    }

    private static func problem(_ outcome: ServerAPIOutcome<TransactionPage>) -> ReceiptVerdict {
        switch outcome {
        case .notFound(.account):
            .problem(.accountGone, "Apple says the customer's account is gone (error 4040001)")
        case .found, .notFound, .notTried: .notTried
        case .unverified(let payload): .problem(.unreadableAnswer, "\(payload)")
        case .tryAgain(let why): .problem(ReceiptProblem(why), why.text)
        case .needsConfiguration(let what): .problem(.needsConfiguration, what)
        }
    }
}

extension CustomerHistories.Answer {
    /// The answer, unless it is a history that holds nothing of what was asked about. What it holds then nobody who
    /// uploaded this has bought.
    fileprivate func unless(isOfAnotherThan customer: CustomerID, _ contents: VerifiedReceipt) -> Self {
        var asked = Set(contents.transactions.flatMap { [$0.transaction.id, $0.transaction.originalID] })
        if case .transaction(let id) = customer { asked.insert(id) }
        guard case .history(let history) = self, !asked.isEmpty, !history.transactions.isEmpty,
            // On a page that was not read it may stand.
            history.unreadable.isEmpty
        else { return self }
        // A restored purchase may be listed under the id of its original alone.
        return history.transactions.contains { asked.contains($0.id) || asked.contains($0.originalID) }
            ? self : .ofAnother
    }
}

extension VerifiedReceipt {
    /// The earliest of its purchases, which Apple is the likeliest to know, but for this one.
    fileprivate func earliest(besides customer: CustomerID) -> CustomerID? {
        transactions.map(\.transaction).filter { CustomerID.transaction($0.id) != customer }
            .min { $0.purchasedAt < $1.purchasedAt }.map { .transaction($0.id) }
    }
}
