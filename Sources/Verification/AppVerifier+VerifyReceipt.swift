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
