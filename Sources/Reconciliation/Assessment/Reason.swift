/// Why a transaction is a case, in the order in which support staff should read the reasons. Each is decided in a file
/// of its own beside this one. A subscription has one of the first four. For anything else either `claimFailed` or
/// `neverClaimed` applies, so a case always has a reason.
public enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
    /// A subscription is paid now, and its customer is without access.
    case withoutAccess = "without_access"
    /// A subscription was paid for a time that went by without access.
    case accessGap = "access_gap"
    /// The same, and access was granted since.
    case grantedLate = "granted_late"
    /// A free trial went by without access.
    case trialOnly = "trial_only"
    /// The app's server tried to claim it and was refused.
    case claimFailed = "claim_failed"
    /// Paid, verified, and no claim ever came.
    case neverClaimed = "never_claimed"
    /// The client finished the consumable before it was delivered, and will never try again.
    case finishedUndelivered = "finished_undelivered"
    /// The customer told Apple that it was not delivered, and Apple asks the app's server.
    case askedApple = "asked_apple"
    /// No upload ever told of it: Apple did, by a notification.
    case onlyAppleTold = "only_apple_told"
    /// It is in the customer's history with Apple, and no receipt ever held it.
    case noReceipt = "no_receipt"
    /// It came in receipts that were uploaded for something else.
    case rodeAlong = "rode_along"
    /// One of the app's own orders is what it pays for.
    case orderMatched = "order_matched"
    /// Several of the app's own orders may be what it pays for.
    case orderAmbiguous = "order_ambiguous"
    /// More than one user may be the owner.
    case ownerAmbiguous = "owner_ambiguous"
    /// Whoever handed it in did so for another purchase, or not when it was paid, so somebody else may have paid; or
    /// they are known by the Apple account alone. A case of likelihood `high` then names nobody as its owner.
    case ownerUncertain = "owner_uncertain"
    /// Apple may still be trying to notify the app's server of it.
    case mayStillArrive = "may_still_arrive"
    /// It has more uploads, claims or orders than are looked at.
    case cutShort = "cut_short"
    /// It was paid in a country where the app expects no sales.
    case unexpectedStorefront = "unexpected_storefront"
    /// The app's list of products does not have it.
    case unknownProduct = "unknown_product"
}
