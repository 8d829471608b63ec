import AppStore
import Foundation
import Reconciliation

/// What a payload shows by itself, without asking anyone.
struct OfflineReceipt: Sendable {
    /// Whether it is a signed transaction of StoreKit 2, which `verifyReceipt` doesn't take.
    var isSignedTransaction = false
    var signature: OfflineSignature?
    /// What it says of itself; nobody vouches for it unless the signature is valid.
    var contents: VerifiedReceipt?
    /// Why its contents can't be used.
    var flaw: String?
    /// Whether nothing was uploaded at all.
    var isEmpty = false

    /// The verdict of the signature alone.
    var verdict: ReceiptVerdict {
        if isEmpty { return .problem(.empty, "the client uploaded nothing") }
        guard signature == .valid, let contents else {
            let problem: ReceiptProblem = signature == .invalid || signature == .untrusted ? .notGenuine : .malformed
            return .problem(problem, flaw ?? "it can't be read")
        }
        return .verified(contents)
    }
}

/// Checks proofs by Apple's signature.
struct OfflineVerifier: Sendable {
    private let appReceipts: AppReceiptVerifier
    private let transactionReceipts: TransactionReceiptVerifier
    private let signed: JWSVerifier
    /// The moment that the run takes for the present.
    private let now: Date

    /// - Parameter signed: shared with the clients of the App Store Server API, for it remembers chains.
    init(roots: TrustRoots, signed: JWSVerifier, now: Date) {
        appReceipts = AppReceiptVerifier(roots: roots)
        transactionReceipts = TransactionReceiptVerifier(roots: roots)
        self.signed = signed
        self.now = now
    }

    func check(_ payload: String, for app: AppSettings) -> OfflineReceipt {
        do {
            switch try ReceiptText(payload.utf8) {
            case .appReceipt(let bytes): return try check(appReceipt: bytes)
            case .transactionReceipt(let bytes): return try check(transactionReceipt: bytes)
            case .signed(let jws): return check(signed: jws, allowsXcode: app.allowsXcode)
            case .verifyReceiptAnswer:
                return OfflineReceipt(flaw: "the client uploaded an answer of verifyReceipt, which proves nothing")
            }
        } catch {
            return OfflineReceipt(flaw: "\(error)", isEmpty: error == .empty)
        }
    }

    private func check(appReceipt bytes: [UInt8]) throws(ReceiptError) -> OfflineReceipt {
        let checked: CheckedAppReceipt
        do {
            checked = try appReceipts.check(bytes)
        } catch {
            return OfflineReceipt(flaw: "\(error)")
        }
        switch checked.contents {
        case .success(let receipt): return proof(checked.signature, receipt.answer)
        case .failure(let error):
            return OfflineReceipt(signature: OfflineSignature(checked.signature), flaw: "\(error)")
        }
    }

    private func check(transactionReceipt bytes: [UInt8]) throws(ReceiptError) -> OfflineReceipt {
        let checked = try transactionReceipts.check(bytes)
        return proof(checked.signature, checked.receipt.answer)
    }

    private func proof(_ signature: SignatureStatus, _ answer: VerifiedReceiptAnswer) -> OfflineReceipt {
        var proof = OfflineReceipt(signature: OfflineSignature(signature), flaw: signature.reason)
        switch VerifiedReceipt.reading(answer, source: .local, now: now) {
        case .success(let contents): proof.contents = contents
        case .failure(let flaw): proof.flaw = proof.flaw ?? flaw.text
        }
        return proof
    }

    private func check(signed jws: String, allowsXcode: Bool) -> OfflineReceipt {
        var proof = OfflineReceipt(isSignedTransaction: true)
        // Whose app it is for is screened like any receipt's: a foreign one is listed, not merely refused.
        let environments: Set<AppStoreEnvironment> =
            allowsXcode ? [.production, .sandbox, .xcode, .localTesting] : [.production, .sandbox]
        do {
            let transaction = try signed.transaction(
                jws, expecting: JWSExpectation(bundleID: nil, environments: environments))
            proof.signature = .valid
            proof.contents = try VerifiedReceipt(transaction, source: .local, now: now)
        } catch let error as JWSError {
            proof.signature = error.signature
            proof.flaw = "\(error)"
        } catch {
            proof.flaw = "\(error)"
        }
        return proof
    }
}

extension OfflineSignature {
    init(_ status: SignatureStatus) {
        self =
            switch status {
            case .valid: .valid
            case .invalid: .invalid
            case .untrusted: .untrusted
            case .absent: .absent
            }
    }
}

extension JWSError {
    /// What the refusal says of the signature.
    fileprivate var signature: OfflineSignature? {
        switch self {
        case .wrongSignature, .malformedSignature, .algorithm: .invalid
        case .chain, .certificateCount, .keyNotP256, .noSigningDate, .notSignedByApple, .environment, .bundleID,
            .appAppleID:
            .untrusted
        case .tooLarge, .notCompact, .malformedHeader, .malformedPayload, .nested: nil
        }
    }
}
