public import Foundation

/// A refund, as Apple writes it into later answers.
public struct Refund: Hashable, Sendable {
    /// How much is taken back.
    public enum Kind: Hashable, Sendable {
        case full
        /// A part of the price, in thousandths of a percent.
        case prorated(Int64)
        /// Access by Family Sharing; nobody is paid back.
        case familyRevoke
    }

    public let at: Date
    /// `1`: a problem with the app; `0`: another.
    public let reason: String
    /// Whether the customer went over to a higher product of the group: what is left of the period was paid back.
    public let isUpgrade: Bool
    public let kind: Kind
    /// From when on answers tell of no refund any more: the customer's dispute was lost, and Apple took the money again.
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

    /// Whether answers tell of it.
    func isTold(at now: Date) -> Bool { at <= now && (reversedAt.map { now < $0 } ?? true) }
}

/// The customer asked Apple for the money, and Apple asks the app's server what became of the purchase.
public struct ConsumptionRequest: Hashable, Sendable {
    public let at: Date
    /// Such as `FULFILLMENT_ISSUE`, in Apple's words.
    public let reason: String

    public init(at: Date, reason: String) {
        self.at = at
        self.reason = reason
    }
}
