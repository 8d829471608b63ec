import Foundation

/// Turns a receipt into the text that clients upload, signed as Apple signs it, and reads it back for `verifyReceipt`.
/// The text carries all its facts, so the store remembers nothing of the receipts it made.
package struct ReceiptSigner: Sendable {
    /// App receipts are signed over SHA-256 from this moment on, 24 January 2025 (TN3138), and over SHA-1 before.
    private static let sha256Begin = Date(timeIntervalSince1970: 1_737_676_800)

    let seed: UInt64
    let keys: TestKeys

    package init(seed: UInt64, keys: TestKeys = .usual) {
        self.seed = seed
        self.keys = keys
    }

    /// Why a text is not a receipt of this store.
    enum Unreadable: Error {
        /// It isn't a receipt.
        case malformed
        /// It is a receipt, but another store signed it.
        case notAuthentic
    }

    /// Returns the text that a client uploads for a receipt.
    package func encode(_ receipt: SimulatedReceipt) -> String {
        switch receipt.style {
        case .appReceipt: Data(container(of: receipt)).base64EncodedString()
        case .transactionReceipt:
            Data(transactionReceipts.encode(receipt, adamID: adamID(of: receipt))).base64EncodedString()
        case .signedTransaction: signedTransaction(of: receipt)
        }
    }

    func decode(_ payload: String) throws(Unreadable) -> SimulatedReceipt {
        guard let data = Data(base64Encoded: payload) else { throw .malformed }
        let bytes = Array(data)
        guard bytes.first == UInt8(ascii: "{") else { return try appReceipt(bytes) }
        return try transactionReceipts.decode(bytes)
    }

    /// A receipt of this store with one bit changed after it was signed.
    package func forge(_ receipt: SimulatedReceipt) -> String {
        var bytes = container(of: receipt)
        // The signature is the last part of the container.
        bytes[bytes.count - 1] ^= 1
        return Data(bytes).base64EncodedString()
    }

    // MARK: The forms

    private var transactionReceipts: TransactionReceiptForm {
        TransactionReceiptForm(keys: keys.transactionReceipts)
    }

    private func adamID(of receipt: SimulatedReceipt) -> Int64 {
        receipt.environment == .production ? SimulatedApp(bundleID: receipt.bundleID, seed: seed).adamID : 0
    }

    private func container(of receipt: SimulatedReceipt) -> [UInt8] {
        let content = AppReceiptPayload.encode(receipt, adamID: adamID(of: receipt))
        let digest = receipt.createdAt < Self.sha256Begin ? Digest.sha1 : .sha256
        return SignedDataContainer.sign(content, with: keys.appReceipts, digest)
    }

    private func appReceipt(_ bytes: [UInt8]) throws(Unreadable) -> SimulatedReceipt {
        do {
            let container = try SignedDataContainer(der: bytes)
            guard container.isSigned(by: keys.appReceipts.key) else { throw Unreadable.notAuthentic }
            return try AppReceiptPayload.decode(container.content)
        } catch let error as Unreadable {
            throw error
        } catch {
            throw .malformed
        }
    }

    /// The form of StoreKit 2, signed when the receipt was made.
    private func signedTransaction(of receipt: SimulatedReceipt) -> String {
        guard let transaction = receipt.transactions.first else { return "" }
        let payload = TransactionPayload(
            transaction: transaction, bundleID: receipt.bundleID, environment: receipt.environment,
            account: receipt.account, refund: nil, signedAt: receipt.createdAt)
        return PayloadSigner(keys.payloads).sign { payload.write(to: &$0) }
    }
}
