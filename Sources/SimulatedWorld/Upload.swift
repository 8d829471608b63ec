import AppStoreSimulator
import Foundation

/// A receipt that a client hands in, with the arguments of `iap.submit_receipt`.
struct Upload: Sendable {
    enum Content: Hashable, Sendable {
        case receipt(SimulatedReceipt)
        /// A receipt that was changed after it was signed.
        case forgery(SimulatedReceipt)
        /// A text that is no receipt at all.
        case text(String)

        /// What the client sends.
        func payload(_ signer: ReceiptSigner) -> String {
            switch self {
            case .receipt(let receipt): signer.encode(receipt)
            case .forgery(let receipt): signer.forge(receipt)
            case .text(let text): text
            }
        }
    }

    let bundleID: String
    let userID: String
    let content: Content
    let transactionID: String?
    let orderID: String?
    /// JSON text.
    let device: String
    let at: Date

    /// The genuine receipt in it, if there is one.
    var receipt: SimulatedReceipt? {
        if case .receipt(let receipt) = content { receipt } else { nil }
    }
}

extension World {
    /// What clients send; each receipt is signed once.
    func payloads(of contents: [Upload.Content]) -> [Upload.Content: String] {
        let contents = Array(Set(contents))
        let signer = ReceiptSigner(seed: settings.seed)
        let payloads = Parallel.map(contents) { $0.payload(signer) }
        return Dictionary(zip(contents, payloads), uniquingKeysWith: { first, _ in first })
    }
}
