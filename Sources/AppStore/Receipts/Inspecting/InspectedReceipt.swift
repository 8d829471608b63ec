public import Foundation

/// What one uploaded proof holds, whatever its form.
public struct InspectedReceipt: Sendable {
    /// The form of a proof.
    public enum Format: String, Sendable {
        case appReceipt = "app_receipt"
        case transactionReceipt = "ios6_receipt"
        case jws
        case verifyReceiptAnswer = "verify_receipt_answer"
    }

    public var format: Format
    /// What a JWS holds: `transaction`, `renewal_info`, `app_transaction` or `notification`.
    public var content: String?
    /// An answer of `verifyReceipt` has none: its text alone proves nothing.
    public var signature: SignatureStatus
    /// When the proof was made, if it says so.
    public var signedAt: Date?
    public var bundleID: String?
    /// `nil` if it is unknown.
    public var environment: String?
    public var applicationVersion: String?
    /// From the JWS, or from the notification in it, if there is one.
    public var renewalInfo: SignedRenewalInfo?
    public var appTransaction: SignedAppTransaction?
    /// The notification itself; what it carries is in the other fields.
    public var notification: AppStoreNotification?
    public var transactions: [AppStoreTransaction] = []
    /// What could not be read, a sentence for each; the rest is used.
    public var problems: [String] = []

    init(_ format: Format, _ signature: SignatureStatus) {
        self.format = format
        self.signature = signature
    }

    init(_ format: Format, _ signature: SignatureStatus, _ answer: VerifiedReceiptAnswer) {
        self.init(format, signature)
        bundleID = answer.bundleID
        environment = answer.environment.isEmpty ? nil : answer.environment
        applicationVersion = answer.applicationVersion
        transactions = answer.transactions
        problems = answer.unusableRows
    }
}

/// Reads proofs of every form, offline.
public struct ReceiptInspector: Sendable {
    private let appReceipts: AppReceiptVerifier
    private let transactionReceipts: TransactionReceiptVerifier
    private let jws: JWSVerifier

    /// - Parameter roots: where chains of certificates must end.
    public init(roots: TrustRoots) {
        appReceipts = AppReceiptVerifier(roots: roots)
        transactionReceipts = TransactionReceiptVerifier(roots: roots)
        jws = JWSVerifier(roots: roots)
    }

    /// - Throws: if nothing can be read at all.
    public func inspect(_ uploaded: some Collection<UInt8>) throws(ReceiptError) -> InspectedReceipt {
        switch try ReceiptText(uploaded) {
        case .appReceipt(let bytes): return Self.proof(try appReceipts.check(bytes))
        case .transactionReceipt(let bytes):
            let checked = try transactionReceipts.check(bytes)
            return InspectedReceipt(.transactionReceipt, checked.signature, checked.receipt.answer)
        case .signed(let text): return try InspectedReceipt(jws: text, by: jws)
        case .verifyReceiptAnswer(let json): return try Self.proof(answer: json)
        }
    }

    private static func proof(_ checked: CheckedAppReceipt) -> InspectedReceipt {
        switch checked.contents {
        case .success(let receipt):
            var proof = InspectedReceipt(.appReceipt, checked.signature, receipt.answer)
            proof.signedAt = receipt.creationDate
            return proof
        case .failure(let error):
            var proof = InspectedReceipt(.appReceipt, checked.signature)
            proof.problems = ["\(error)"]
            return proof
        }
    }

    private static func proof(answer json: [UInt8]) throws(ReceiptError) -> InspectedReceipt {
        guard let body = JSONObject(json).map(AnswerBody.init) else { throw .unknownForm }
        // If an answer doesn't name its environment, only whoever asked knows it.
        if let answer = body.answer(endpoint: "") {
            return InspectedReceipt(.verifyReceiptAnswer, .absent, answer)
        }
        var proof = InspectedReceipt(.verifyReceiptAnswer, .absent)
        proof.problems = ["the answer holds no receipt; its status is \(body.status.map(String.init) ?? "missing")"]
        return proof
    }
}
