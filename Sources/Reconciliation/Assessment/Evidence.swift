/// Why a user may be the owner of a transaction, from the strongest to the weakest.
public enum Evidence: String, Hashable, Sendable, Codable, CaseIterable, Comparable {
    /// The purchase bears an `appAccountToken` of theirs, or of an order of theirs: the client set it when they paid.
    case accountToken = "account_token"
    /// The app's own server admitted the purchase for them.
    case admitted
    /// The support desk says that it is theirs.
    case toldSupport = "told_support"
    /// The order that was named with the receipt is theirs.
    case order
    /// They uploaded a receipt for this very purchase.
    case uploaded
    /// They uploaded a genuine receipt for this very purchase that doesn't hold it: StoreKit had not written it down
    /// yet.
    case mentioned
    /// The app's server tried to claim it for them.
    case claimed
    /// They uploaded a receipt that holds it too.
    case carried
    /// Apple told of it in the history of their receipt's customer.
    case history
    /// Another purchase of the same receipt was delivered to them.
    case companion
    /// Another purchase of the same customer of Apple's (`appTransactionId`) was delivered to them. One history has
    /// been seen with two values, so it counts only if there is no other evidence for anybody.
    case account

    /// The stronger comes first.
    public static func < (a: Evidence, b: Evidence) -> Bool { a.rank < b.rank }
}
