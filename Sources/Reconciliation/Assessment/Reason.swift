/// Why a transaction is a case. Each reason is decided in a file of its own beside this one.
public enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
    /// Paid, verified, and no claim ever came.
    case neverClaimed = "never_claimed"
    /// It came in receipts that were uploaded for something else.
    case rodeAlong = "rode_along"
    /// It is in the customer's history with Apple, and no receipt ever held it.
    case noReceipt = "no_receipt"
    /// The app's server tried to claim it and was refused.
    case claimFailed = "claim_failed"
    /// More than one user presented it.
    case ownerAmbiguous = "owner_ambiguous"
    /// The app's list of products does not have it.
    case unknownProduct = "unknown_product"
}
