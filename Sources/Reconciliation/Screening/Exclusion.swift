/// Why a verified transaction is not owed, in the order in which the rules are asked: the first that applies names the
/// reason. Each is decided by one rule, in a file of its own under `Rules`.
public enum Exclusion: String, Hashable, Sendable, Codable, CaseIterable {
    /// The receipt names another app than the one it was handed in for.
    case foreignBundle = "foreign_bundle"
    /// It was made in the other environment than the app's: nobody paid.
    case sandbox
    /// Somebody else paid for it: a family member, or who bought seats for others.
    case familyShared = "family_shared"
    /// Apple refunded or revoked it.
    case refunded
    /// An upgrade within the subscription group took its place.
    case upgraded
    /// A quantity below one is no purchase.
    case invalidQuantity = "invalid_quantity"
    /// Bought before the app's records begin.
    case beforeStart = "before_start"
    /// A non-consumable bought once, or a subscription's period, is owed once, however often it is restored.
    case restored
}
