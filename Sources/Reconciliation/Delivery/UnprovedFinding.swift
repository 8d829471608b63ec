/// Why Apple's word does not bear out a delivery.
public enum UnprovedFinding: String, Hashable, Sendable {
    /// Apple knows no such purchase.
    case unknownToApple = "unknown_to_apple"
    /// It was a tester's.
    case sandbox
    /// It bears the `appAccountToken` of somebody else.
    case anotherUser = "another_user"
    /// Apple sold another product than was delivered.
    case otherProduct = "other_product"
    /// Apple sold more or fewer than were delivered.
    case otherQuantity = "other_quantity"
    /// It was bought in another app.
    case foreignBundle = "foreign_bundle"
    /// It was refunded before it was delivered.
    case refundedBefore = "refunded_before"
}
