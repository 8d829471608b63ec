import AppStore
import Foundation
import Reconciliation

/// What a payload shows by itself, offline.
struct OfflineReceipt: Sendable {
    /// Whether it is a JWS, such as a signed transaction of StoreKit 2, which `verifyReceipt` doesn't take.
    var isJWS = false
    var signature: OfflineSignature?
    /// The contents, which nothing vouches for unless the signature is valid.
    var contents: VerifiedReceipt?
    /// What kind of JWS it is, if it names no purchase.
    var empty: EmptyProof?
    /// Why its contents can't be used.
    var flaw: String?
    /// Whether nothing was uploaded at all.
    var isEmpty = false
    /// Whether it has none of the forms of Apple's proofs.
    var isOfNoForm = false
    /// Whether nothing in it could be changed under a valid signature, as anybody can change the environment of an iOS 6
    /// receipt.
    var isSignedWhole = false

    /// Whether what signed it is not known to this program, and may be to a later one.
    var isOfUnknownSigner = false

    /// The customer to whom it leads; nothing vouches for it unless the signature is valid.
    var customer: CustomerID? {
        contents?.transactions.first.map { .transaction($0.transaction.id) } ?? empty?.customer
    }

    /// The verdict by the signature alone.
    var verdict: ReceiptVerdict {
        if isEmpty { return .problem(.empty, "the client uploaded nothing") }
        if isSignedWhole, signature == .valid, contents == nil {
            // What Apple signed is not malformed. This program can't read it, but a later one may.
            return .problem(.unreadableAnswer, "Apple signed it, but \(flaw ?? "it can't be read")")
        }
        guard signature == .valid, let contents else {
            return .problem(refusal, flaw ?? "it can't be read")
        }
        guard let empty else { return .verified(contents) }
        return .problem(empty.customer == nil ? .noTransactions : .needsKey, "genuine: \(empty.text)")
    }

    /// What is wrong with a proof whose signature does not hold.
    private var refusal: ReceiptProblem {
        switch signature {
        case _ where isOfUnknownSigner: .unknownSigner
        case .invalid, .untrusted: .notGenuine
        case .valid, .absent, nil: .malformed
        }
    }
}

/// Checks proofs by Apple's signature.
struct OfflineVerifier: Sendable {
    private let appReceipts: AppReceiptVerifier
    private let transactionReceipts: TransactionReceiptVerifier
    private let signed: JWSVerifier
    /// The run's present moment.
    private let now: Date

    /// - Parameter signed: shared with the clients of the App Store Server API, as it remembers chains.
    init(roots: TrustRoots, signed: JWSVerifier, now: Date) {
        appReceipts = AppReceiptVerifier(roots: roots)
        transactionReceipts = TransactionReceiptVerifier(roots: roots)
        self.signed = signed
        self.now = now
    }

    func check(_ payload: String, for app: AppSettings) -> OfflineReceipt {
        let form: ReceiptText
        do {
            form = try ReceiptText(payload.utf8)
        } catch {
            return OfflineReceipt(flaw: "\(error)", isEmpty: error == .empty, isOfNoForm: true)
        }
        do {
            switch form {
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
        case .success(let receipt):
            var proof = proof(checked.signature, receipt.answer)
            // What Xcode makes is no purchase for any program.
            proof.isSignedWhole = receipt.environment != AppStoreEnvironment.xcode.rawValue
            return proof
        case .failure(let error):
            var proof = OfflineReceipt(signature: OfflineSignature(checked.signature), flaw: "\(error)")
            // Somebody signed it, perhaps Apple, in a form that it writes one day. When, which the chain is judged by,
            // stands in what can't be read.
            if case .untrusted = checked.signature { proof.isOfUnknownSigner = true }
            return proof
        }
    }

    private func check(transactionReceipt bytes: [UInt8]) throws(ReceiptError) -> OfflineReceipt {
        let checked = try transactionReceipts.check(bytes)
        return proof(checked.signature, checked.receipt.answer)
    }

    private func proof(_ signature: SignatureStatus, _ answer: VerifiedReceiptAnswer) -> OfflineReceipt {
        var proof = OfflineReceipt(signature: OfflineSignature(signature), flaw: signature.reason)
        if case .unknownRoot = signature { proof.isOfUnknownSigner = true }
        do {
            proof.contents = try VerifiedReceipt(answer, source: .local, now: now)
        } catch {
            proof.flaw = proof.flaw ?? error.text
        }
        return proof
    }

    private func check(signed jws: String, allowsXcode: Bool) -> OfflineReceipt {
        var proof = OfflineReceipt(isJWS: true, isSignedWhole: true)
        // The app is screened as for any receipt: a foreign one is listed, not just refused.
        var expectation = JWSExpectation.anything
        if allowsXcode { expectation.environments.formUnion([.xcode, .localTesting]) }
        do {
            let content = try signed.content(jws, expecting: expectation)
            proof.signature = .valid
            try proof.read(content, now: now)
        } catch let error as JWSError {
            proof.signature = error.signature
            proof.flaw = "\(error)"
            proof.isOfUnknownSigner = !error.isFinal
        } catch {
            proof.flaw = "\(error)"
        }
        return proof
    }
}

extension OfflineReceipt {
    /// Reads content whose signature was verified.
    ///
    /// - Throws: `ReceiptFlaw`, or AppStore's `UnusableTransaction`.
    fileprivate mutating func read(_ content: SignedContent, now: Date) throws {
        switch content {
        case .transaction(let transaction):
            contents = try VerifiedReceipt(transaction, source: .local, now: now)
        case .renewalInfo(let renewal):
            // It names no app: its customer's purchases do.
            contents = try VerifiedReceipt(holdingNothing: nil, renewal.environment, now: now)
            empty = EmptyProof(renewal)
        case .appTransaction(let transaction):
            contents = try VerifiedReceipt(holdingNothing: transaction.bundleID, transaction.receiptType, now: now)
            empty = EmptyProof(transaction)
        case .notification(let notification):
            if let transaction = notification.transaction { return try read(.transaction(transaction), now: now) }
            contents = try VerifiedReceipt(holdingNothing: notification.bundleID, notification.environment, now: now)
            empty = EmptyProof(notification)
        }
    }
}

extension OfflineSignature {
    init(_ status: SignatureStatus) {
        self =
            switch status {
            case .valid: .valid
            case .invalid: .invalid
            case .untrusted, .unknownRoot: .untrusted
            case .absent: .absent
            }
    }
}
