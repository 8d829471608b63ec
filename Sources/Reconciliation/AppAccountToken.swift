import Foundation

/// The UUID that a client hands to StoreKit with a purchase (`appAccountToken`).
public enum AppAccountToken {
    /// In small letters, as what Apple signs has it and `iap.register_order` keeps it; `nil` where it is no UUID.
    public static func normalized(_ text: String) -> String? { UUID(uuidString: text)?.uuidString.lowercased() }
}
