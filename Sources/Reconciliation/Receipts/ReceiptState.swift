/// How a receipt of the inbox stands, as `iap.receipts.state` has it.
public enum ReceiptState: String, Hashable, Sendable, Codable, CaseIterable {
    /// To be tried for the first time, or again.
    case waiting
    /// Verified, and Apple is asked about it again each night: it holds a white transaction, or one that it was uploaded
    /// for is still missing.
    case watched
    /// Verified, and nothing in it is owed.
    case settled
    /// Refused for good.
    case unusable
}
