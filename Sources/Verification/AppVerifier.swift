import AppStore
import Foundation
package import Reconciliation

/// Verifies the payloads of one app, by the method in its configuration.
package struct AppVerifier: Sendable {
    package let settings: AppSettings
    let offline: OfflineVerifier
    let verifyReceipt: VerifyReceiptClient
    /// Set if the app has a key and its method uses it.
    let serverAPI: ServerAPIClient?
    private let histories = CustomerHistories()
    /// The run's present moment.
    let now: Date

    /// The result of verifying a payload.
    package struct Judgement: Sendable {
        package var verdict: ReceiptVerdict
        /// The result of checking its signature on this machine, if that was checked.
        package var signature: OfflineSignature?
        /// Whether the payload has none of the forms of Apple's proofs: then its verdict says nothing of Apple, or of a
        /// setting.
        package var isOfNoForm = false

        package init(_ verdict: ReceiptVerdict, _ signature: OfflineSignature? = nil) {
            self.verdict = verdict
            self.signature = signature
        }

        /// The judgement by the signature alone.
        init(_ proof: OfflineReceipt) {
            self.init(proof.verdict, proof.signature)
            isOfNoForm = proof.isOfNoForm
        }

        /// The judgement of a payload that has no form.
        fileprivate init(malformed text: String) {
            self.init(.problem(.malformed, text))
            isOfNoForm = true
        }
    }

    /// - Parameter users: the users who uploaded it.
    /// - Throws: `CancellationError` if the run was asked to stop.
    package func judge(_ payload: String, of users: [String] = []) async throws(CancellationError) -> Judgement {
        switch settings.verification {
        case .local:
            return Judgement(offline.check(payload, for: settings))
        case .verifyReceipt:
            return try await askVerifyReceipt(payload)
        case .auto, .serverAPI:
            guard let serverAPI else { return try await askVerifyReceipt(payload) }
            return try await ask(serverAPI, payload, users)
        }
    }
}

// MARK: verifyReceipt

extension AppVerifier {
    /// Asks Apple about a receipt; a signed transaction, which `verifyReceipt` doesn't take, is judged by its
    /// signature.
    private func askVerifyReceipt(_ payload: String) async throws(CancellationError) -> Judgement {
        guard let receiptData = Self.receiptData(payload) else {
            return Judgement(offline.check(payload, for: settings))
        }
        let outcome = try await verifyReceipt.verify(
            receiptData: receiptData, sharedSecret: settings.sharedSecret?.plainText)
        return chokedOn(payload, outcome) ?? heardWithWitness(outcome, payload)
    }

    /// The judgement of a payload that is no receipt at all, if Apple's server chokes on it: another night brings no
    /// better answer. Otherwise `nil`.
    private func chokedOn(_ payload: String, _ outcome: VerifyReceiptOutcome) -> Judgement? {
        guard case .tryAgain(let why) = outcome, why.isOfTheReceipt, !ReceiptText.isPlainAppReceipt(payload) else {
            return nil
        }
        do {
            _ = try ReceiptText(payload.utf8)
            return nil
        } catch {
            return Judgement(malformed: "\(why.text); \(error)")
        }
    }

    /// The payload in the form that `verifyReceipt` takes; `nil` for a signed transaction.
    private static func receiptData(_ payload: String) -> String? {
        if ReceiptText.isPlainAppReceipt(payload) { return payload }
        switch try? ReceiptText(payload.utf8) {
        case .signed: return nil
        case .appReceipt(let bytes), .transactionReceipt(let bytes): return Data(bytes).base64EncodedString()
        case .verifyReceiptAnswer, nil: return payload
        }
    }

    /// If Apple refuses a receipt, its signature is a second witness. What Apple signed is not malformed. “Not genuine”
    /// contradicts Apple's own signature. A secret that doesn't fit may mean that the receipt is another app's.
    private func heardWithWitness(_ outcome: VerifyReceiptOutcome, _ payload: String) -> Judgement {
        let verdict = ReceiptVerdict(outcome, now: now)
        guard case .problem(let problem, let text) = verdict, outcome.needsWitness else {
            return contradicted(verdict, payload) ?? Judgement(verdict)
        }
        let proof = offline.check(payload, for: settings)
        switch (outcome, proof.signature) {
        case (.needsSecret, .valid) where proof.isOfAnotherApp(than: settings.app): return Judgement(proof)
        case (.needsSecret, _): return Judgement(verdict)
        case (.malformedOrOutage, .valid):
            let found = "\(text); but Apple's signature holds, so the trouble is Apple's"
            return Judgement(.problem(.tryAgain, found), .valid)
        case (.notGenuine, .valid):
            return Judgement(.problem(.contradicted, "\(text), though Apple's own signature holds"), .valid)
        default:
            var judgement = Judgement(.problem(problem, proof.flaw.map { "\(text); \($0)" } ?? text), proof.signature)
            judgement.isOfNoForm = proof.isOfNoForm
            return judgement
        }
    }
}

extension AppVerifier {
    /// The judgement of an answer that Apple's signature over the receipt contradicts: it names another app, or holds
    /// none of the purchases. It is the answer to another question, or no whole one. Otherwise `nil`.
    private func contradicted(_ verdict: ReceiptVerdict, _ payload: String) -> Judgement? {
        guard case .verified(let answer) = verdict else { return nil }
        let named = answer.bundleID ?? settings.app.bundleID
        guard named != settings.app.bundleID || !answer.mayBeOf(payload) else { return nil }
        let proof = offline.check(payload, for: settings)
        guard proof.signature == .valid, let signed = proof.contents else { return nil }
        let found: String
        if let bundleID = signed.bundleID, bundleID != named {
            found = "Apple's answer is of a receipt of \(named), and Apple signed this one for \(bundleID)"
        } else if !signed.transactions.isEmpty, answer.ids.isDisjoint(with: signed.ids) {
            found = "Apple's answer holds none of the purchases in the receipt that Apple signed"
        } else {
            return nil
        }
        return Judgement(.problem(.unreadableAnswer, found), .valid)
    }
}

extension VerifiedReceipt {
    /// The ids of its purchases and of their originals.
    fileprivate var ids: Set<TransactionID> {
        Set(transactions.flatMap { [$0.transaction.id, $0.transaction.originalID] })
    }

    /// Whether an answer may be of that receipt, by a look at its bytes: to read every receipt would take longer than
    /// all else that is done with it. Of an answer the receipt's own purchases come first.
    fileprivate func mayBeOf(_ payload: String) -> Bool {
        if transactions.isEmpty { return !unreadable.isEmpty }
        guard ReceiptText.isPlainAppReceipt(payload) else { return true }
        let ids = transactions.lazy.flatMap { [$0.transaction.id.text, $0.transaction.originalID.text] }
        return ReceiptText.holdsAny(of: ids, payload)
    }
}

extension VerifyReceiptOutcome {
    /// Whether the answer is about the receipt, and refuses it.
    fileprivate var needsWitness: Bool {
        switch self {
        case .notGenuine, .malformedOrOutage, .needsSecret: true
        case .genuine, .tryAgain, .needsConfiguration, .accountGone, .notTried: false
        }
    }
}

extension TryAgain {
    /// Whether Apple's server answered, but did not call the receipt genuine.
    fileprivate var isOfTheReceipt: Bool {
        if case .noReceipt = self { false } else { ReceiptProblem(self) != .appleUnreachable }
    }
}

extension OfflineReceipt {
    fileprivate func isOfAnotherApp(than app: App) -> Bool {
        contents?.bundleID.map { $0 != app.bundleID } ?? false
    }
}

// MARK: App Store Server API

extension AppVerifier {
    /// Asks Apple about a proof. The signature says which purchases are in the proof, or whose it is; Apple says how
    /// they and the customer's others stand.
    private func ask(
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
