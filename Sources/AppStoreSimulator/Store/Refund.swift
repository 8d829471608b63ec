public import Foundation

/// A refund, as it appears in later answers of Apple's.
public struct Refund: Hashable, Sendable {
    /// How much is refunded.
    public enum Kind: Hashable, Sendable {
        case full
        /// A part of the price, in thousandths of a percent.
        case prorated(Int64)
        /// Access by Family Sharing ends; nobody is paid back.
        case familyRevoke
    }

    public let at: Date
    /// `1`: a problem with the app; `0`: another.
    public let reason: String
    /// Whether the customer upgraded within the group, so the rest of the period was paid back.
    public let isUpgrade: Bool
    public let kind: Kind
    /// From when on answers show no refund any more: the customer's dispute was lost, and Apple took the money again.
    public var reversedAt: Date?

    public init(
        at: Date, reason: String = "0", isUpgrade: Bool = false, kind: Kind = .full, reversedAt: Date? = nil
    ) {
        self.at = at
        self.reason = reason
        self.isUpgrade = isUpgrade
        self.kind = kind
        self.reversedAt = reversedAt
    }

    /// Whether answers show it.
    func isTold(at now: Date) -> Bool { at <= now && (reversedAt.map { now < $0 } ?? true) }
}

/// A customer's request to Apple for a refund, about which Apple asks the app's server how the purchase was used.
public struct ConsumptionRequest: Hashable, Sendable {
    public let at: Date
    /// In Apple's words, such as `FULFILLMENT_ISSUE`.
    public let reason: String

    public init(at: Date, reason: String) {
        self.at = at
        self.reason = reason
    }
}
