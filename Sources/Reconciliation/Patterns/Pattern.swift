public import Foundation

/// What many cases of an app have in common and delivered purchases have not: one cause to look for, not one for each
/// case. A case may belong to several patterns.
public struct Pattern: Hashable, Sendable {
    /// What the cases have in common.
    public enum Cause: Hashable, Sendable {
        /// Nothing that was bought since then was delivered.
        case outage
        /// The product is never delivered, while others are.
        case product(ProductID)
        /// Purchases by one kind of device or program are lost far more than others.
        case device(DeviceTrait, String)
        /// What was bought in these hours is lost, while the hours before and after were delivered.
        case hours
    }

    public let cause: Cause
    public let bundleID: BundleID
    /// The beginning of the time in which its purchases were made.
    public let from: Date
    /// The end of that time, exclusive; `nil` if it goes on.
    public let until: Date?
    public let counts: PurchaseCounts

    public init(_ cause: Cause, of bundleID: BundleID, from: Date, until: Date?, _ counts: PurchaseCounts) {
        self.cause = cause
        self.bundleID = bundleID
        self.from = from
        self.until = until
        self.counts = counts
    }

    /// Whether a case is one of its cases.
    public func holds(_ found: ReportedCase) -> Bool {
        guard found.key.bundleID == bundleID, found.purchasedAt >= from, until.map({ found.purchasedAt < $0 }) ?? true
        else { return false }
        return switch cause {
        case .outage, .hours: true
        case .product(let productID): found.productID == productID
        case .device(let trait, let value): found.device.map { DeviceTrait.values(in: $0)[trait] == value } ?? false
        }
    }
}
