import AppStore
import Foundation
import Reconciliation

extension AppVerifier {
    /// Asks Apple about a receipt; a signed transaction, which `verifyReceipt` doesn't take, is judged by its
    /// signature.
    func askVerifyReceipt(_ payload: String) async throws(CancellationError) -> Judgement {
        guard let receiptData = Self.receiptData(payload) else {
            return Judgement(offline.check(payload, for: settings))
        }
        let outcome = try await verifyReceipt.verify(
            receiptData: receiptData, sharedSecret: settings.sharedSecret?.plainText)
        return chokedOn(payload, outcome) ?? heardWithWitness(outcome, payload, PlainAppReceipt(receiptData))
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

    /// Apple's signature is a second witness, against an answer that does not fit the receipt, and if Apple refuses it.
    /// What Apple signed is not malformed. “Not genuine” contradicts Apple's own signature. A secret that doesn't fit may
    /// mean that the receipt is another app's.
    ///
    /// - Parameter receipt: the receipt that Apple was asked about; `nil` if that is no app receipt.
    private func heardWithWitness(
        _ outcome: VerifyReceiptOutcome, _ payload: String, _ receipt: PlainAppReceipt?
    ) -> Judgement {
        let verdict = ReceiptVerdict(outcome, now: now)
        if case .genuine(let told) = outcome, case .verified(let answer) = verdict {
            return contradicted(answer, payload, receipt)
                ?? completed(answer, holding: told.idsInReceipt, payload, receipt) ?? Judgement(verdict)
        }
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

extension AppVerifier {
    /// The judgement of an answer that Apple's signature over the receipt contradicts: it names another app or another
    /// environment, or holds none of the purchases. It is the answer to another question, or no whole one. Otherwise
    /// `nil`.
    private func contradicted(
        _ answer: VerifiedReceipt, _ payload: String, _ receipt: PlainAppReceipt?
    ) -> Judgement? {
        let named = answer.bundleID ?? settings.app.bundleID
        let isOfApp = named == settings.app.bundleID && answer.environment == settings.app.environment
        guard !isOfApp || !answer.mayBeOf(receipt) else { return nil }
        let proof = offline.check(payload, for: settings)
        guard proof.signature == .valid, let signed = proof.contents else { return nil }
        let found: String
        if let bundleID = signed.bundleID, bundleID != named {
            found = "Apple's answer is of a receipt of \(named), and Apple signed this one for \(bundleID)"
        } else if signed.environment != answer.environment {
            found = """
                Apple's answer is of the environment \(answer.environment.rawValue), and Apple signed this receipt in \
                \(signed.environment.rawValue)
                """
        } else if !signed.transactions.isEmpty, answer.ids.isDisjoint(with: signed.ids) {
            found = "Apple's answer holds none of the purchases in the receipt that Apple signed"
        } else {
            return nil
        }
        return Judgement(.problem(.unreadableAnswer, found), .valid)
    }

    /// The judgement of an answer that lacks some of the purchases in the receipt: Apple's signature says that they were
    /// made, and stands until Apple tells of them. Otherwise `nil`.
    ///
    /// - Parameter count: how many the answer says are in the receipt.
    private func completed(
        _ answer: VerifiedReceipt, holding count: Int, _ payload: String, _ receipt: PlainAppReceipt?
    ) -> Judgement? {
        guard let receipt, receipt.purchases > count else { return nil }
        let proof = offline.check(payload, for: settings)
        guard proof.signature == .valid, let signed = proof.contents else { return nil }
        var whole = answer
        let told = Set(answer.transactions.map(\.transaction.id))
        whole.transactions += signed.transactions.filter { !told.contains($0.transaction.id) }
        return Judgement(.verified(whole), .valid)
    }
}

extension VerifiedReceipt {
    /// The ids of its purchases and of their originals.
    fileprivate var ids: Set<TransactionID> {
        Set(transactions.flatMap { [$0.transaction.id, $0.transaction.originalID] })
    }

    /// Whether an answer may be of that receipt, by a look at its bytes: to read every receipt would take longer than
    /// all else that is done with it. Of an answer the receipt's own purchases come first.
    fileprivate func mayBeOf(_ receipt: PlainAppReceipt?) -> Bool {
        if transactions.isEmpty { return !unreadable.isEmpty }
        guard let receipt else { return true }
        return receipt.holdsAny(
            of: transactions.lazy.flatMap { [$0.transaction.id.text, $0.transaction.originalID.text] })
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
