/// How an app's receipts are verified; the key `verification` of its section.
public enum VerificationMethod: String, Sendable, CaseIterable {
    /// The App Store Server API if the app has a key for it, otherwise `verifyReceipt`.
    case auto
    /// The App Store Server API alone.
    case serverAPI = "server-api"
    /// Apple's `verifyReceipt`; for signed transactions, which it doesn't take, their signature.
    case verifyReceipt = "verify-receipt"
    /// Apple's signature, checked on this machine: proof of a purchase, but not that it was not refunded since.
    case local
}
