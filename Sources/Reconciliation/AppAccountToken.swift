import Foundation

/// The UUID that a client hands to StoreKit with a purchase (`appAccountToken`).
public enum AppAccountToken {
    /// The token in lower case, as Apple signs it and `iap.register_order` keeps it; `nil` if it is no UUID.
    public static func normalized(_ text: String) -> String? { UUID(uuidString: text)?.uuidString.lowercased() }
}
