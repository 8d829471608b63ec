import AppStore
import Foundation
package import Reconciliation

/// Verifies the payloads of one app, by the method that its configuration chose.
package struct AppVerifier: Sendable {
    package let settings: AppSettings
    let offline: OfflineVerifier
    let verifyReceipt: VerifyReceiptClient
    /// Where the app has a key and its method uses it.
    let serverAPI: ServerAPIClient?
    private let histories = CustomerHistories()
    /// The moment that the run takes for the present.
    let now: Date

    /// What verification says of a payload.
    package struct Judgement: Sendable {
        package var verdict: ReceiptVerdict
        /// What the check of its signature on this machine said, where it was looked at.
        package var signature: OfflineSignature?
        /// Whether the payload has none of the forms of Apple's proofs: what becomes of it says nothing of Apple, or of a
        /// setting.
        package var isOfNoForm = false

        package init(_ verdict: ReceiptVerdict, _ signature: OfflineSignature? = nil) {
            self.verdict = verdict
            self.signature = signature
        }

        /// By the signature alone.
        init(_ proof: OfflineReceipt) {
            self.init(proof.verdict, proof.signature)
            isOfNoForm = proof.isOfNoForm
        }

        /// Of a payload that has no form.
        fileprivate init(malformed text: String) {
            self.init(.problem(.malformed, text))
            isOfNoForm = true
        }
    }

    /// - Parameter users: who uploaded it.
    /// - Throws: `CancellationError` when the run was asked to stop.
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
    /// Asks Apple about a receipt; a signed transaction, which `verifyReceipt` doesn't take, stands by its signature.
    private func askVerifyReceipt(_ payload: String) async throws(CancellationError) -> Judgement {
        guard let receiptData = Self.receiptData(payload) else {
            return Judgement(offline.check(payload, for: settings))
        }
        let outcome = try await verifyReceipt.verify(
            receiptData: receiptData, sharedSecret: settings.sharedSecret?.plainText)
        return chokedOn(payload, outcome) ?? heardWithWitness(outcome, payload)
    }

    /// Where Apple's server chokes on what is no receipt at all, another night brings no better answer; `nil` of all else.
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

    /// The payload as `verifyReceipt` takes it; `nil` of a signed transaction.
    private static func receiptData(_ payload: String) -> String? {
        if ReceiptText.isPlainAppReceipt(payload) { return payload }
        switch try? ReceiptText(payload.utf8) {
        case .signed: return nil
        case .appReceipt(let bytes), .transactionReceipt(let bytes): return Data(bytes).base64EncodedString()
        case .verifyReceiptAnswer, nil: return payload
        }
    }

    /// Where Apple refuses a receipt, its signature is the second witness: what Apple signed is not malformed, an answer
    /// that it isn't genuine contradicts Apple's own hand, and the secret that Apple misses may be another app's.
    private func heardWithWitness(_ outcome: VerifyReceiptOutcome, _ payload: String) -> Judgement {
        let verdict = ReceiptVerdict(outcome, now: now)
        guard case .problem(let problem, let text) = verdict, outcome.needsWitness else { return Judgement(verdict) }
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

extension VerifyReceiptOutcome {
    /// Whether it is a word on the receipt, and refuses it.
    fileprivate var needsWitness: Bool {
        switch self {
        case .notGenuine, .malformedOrOutage, .needsSecret: true
        case .genuine, .tryAgain, .needsConfiguration, .accountGone, .notTried: false
        }
    }
}

extension TryAgain {
    /// Whether Apple's server answered something, and did not call the receipt genuine.
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
    /// The signature says which purchases are in the proof, or whose it is, and Apple says how they, and the customer's
    /// others, stand.
    private func ask(
        _ client: ServerAPIClient, _ payload: String, _ users: [String]
    ) async throws(CancellationError) -> Judgement {
        let proof = offline.check(payload, for: settings)
        guard proof.signature == .valid, let contents = proof.contents, let customer = proof.customer else {
            return try await withoutCustomer(proof, payload)
        }
        // This app's key opens nothing of another's: screening tells it apart.
        guard contents.bundleID == nil || contents.bundleID == settings.app.bundleID else {
            return Judgement(.verified(contents), .valid)
        }
        return Judgement(try await history(of: customer, client, contents, users: users), .valid)
    }

    /// A proof that leads to no customer to ask about, or that nobody vouches for.
    private func withoutCustomer(
        _ proof: OfflineReceipt, _ payload: String
    ) async throws(CancellationError) -> Judgement {
        let mayAskOtherwise = settings.verification == .auto && !proof.isEmpty && !proof.isJWS
        return mayAskOtherwise ? try await askVerifyReceipt(payload) : Judgement(proof)
    }

    /// Everything that the customer bought: what the proof holds as Apple sees it now, and what no proof ever held.
    private func history(
        of customer: CustomerID, _ client: ServerAPIClient, _ contents: VerifiedReceipt, users: [String]
    ) async throws(CancellationError) -> ReceiptVerdict {
        let environment: ServerEnvironment = contents.environment == .production ? .production : .sandbox
        let told = try await histories.history(
            of: [customer] + contents.transactions.dropFirst().map { .transaction($0.transaction.id) },
            in: environment, users: users
        ) { () async throws(CancellationError) in try await ask(client, about: customer, in: environment) }
        switch told {
        case .history(let history):
            var receipt = contents
            receipt.take(history)
            return .verified(receipt)
        case .notKnown where contents.transactions.isEmpty:
            return .problem(.noTransactions, "genuine, but Apple does not know the customer to whom it leads")
        // Seen for hours after a purchase: until Apple knows it, its signature stands.
        case .notKnown: return .verified(contents)
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
