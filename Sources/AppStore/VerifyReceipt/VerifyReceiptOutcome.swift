/// The result of asking Apple about one receipt. No text in it holds anything of the payload or the secret.
public enum VerifyReceiptOutcome: Sendable, Hashable {
    /// Status 0, or 21006: an iOS 6 receipt of a subscription that has expired.
    case genuine(VerifiedReceiptAnswer)
    /// 21003: the receipt could not be authenticated.
    case notGenuine(status: Int)
    /// 21002, which Apple answers for malformed receipts and, in outages, for good ones; or an internal error that
    /// Apple calls not retryable. Only asking on several nights tells which.
    case malformedOrOutage(status: Int)
    /// Nothing was learnt of the receipt, and tonight's attempts are used up: ask again.
    case tryAgain(TryAgain)
    /// Asking again won't help until somebody corrects the setting that the sentence names.
    case needsConfiguration(String)
    /// 21004: the receipt is from an app whose shared secret is missing or another.
    case needsSecret(String)
    /// 21010: the customer's account was not found, or was deleted.
    case accountGone
    /// Nothing was sent: the circuit is open, as Apple is down.
    case notTried
}
