public import Foundation

/// What is expected of an app's server for purchases of one product type.
public struct ExpectedDelivery: Hashable, Sendable {
    public let bundleID: BundleID
    /// The app's own environment. Nothing is owed in the other, whose purchases are testers'.
    public let environment: Environment
    /// `nil` for purchases whose type nobody knows.
    public let productType: ProductType?
    /// Seconds after a purchase in which it may still be delivered normally.
    public let grace: TimeInterval
    /// `nil` if the app is not connected: it never delivered anything of the type in a way that the job sees.
    public let mode: DeliveryMode?
    /// Purchases before this moment are not judged: they were delivered in ways that the job did not see.
    public let from: Date
}

/// Since when apps deliver in ways that the job sees, each in its environment.
public struct Connections: Hashable, Sendable {
    /// For each app and type, since when purchases are claimed or deliveries imported; `nil` is the unknown type.
    public var claims: [BundleID: [ProductType?: Date]]
    /// For each app, when its server first said what it has granted.
    public var entitlements: [BundleID: Date]

    public init(claims: [BundleID: [ProductType?: Date]] = [:], entitlements: [BundleID: Date] = [:]) {
        self.claims = claims
        self.entitlements = entitlements
    }
}

extension App {
    /// What is expected of the app's server: by its configuration, otherwise by what it has done so far. An app that
    /// never delivered anything of a type is not connected for it, and none of that is called lost.
    public func expectedDeliveries(_ connections: Connections) -> [ExpectedDelivery] {
        (ProductType.allCases.map(Optional.some) + [nil]).map { type in
            // Purchases of unknown type are mostly consumables.
            if let mode = delivery[type ?? .consumable] {
                return expectedDelivery(type, mode, from: since ?? .distantPast)
            }
            let claimed = claimed(type, connections.claims[bundleID] ?? [:])
            if type == .autoRenewable, let entitled = connections.entitlements[bundleID] {
                return expectedDelivery(type, .entitlement, from: since ?? min(entitled, claimed ?? entitled))
            }
            // An app with a `since` says that claims come from then on. That does not hold for subscriptions, which few
            // servers claim.
            let isDeclared = since != nil && type != .autoRenewable
            return expectedDelivery(
                type, claimed == nil && !isDeclared ? nil : .claim, from: since ?? claimed ?? .distantPast)
        }
    }

    private func expectedDelivery(_ type: ProductType?, _ mode: DeliveryMode?, from: Date) -> ExpectedDelivery {
        ExpectedDelivery(
            bundleID: bundleID, environment: environment, productType: type, grace: grace.seconds(for: type),
            mode: mode, from: from)
    }

    /// Since when a type is claimed. It may have been unknown when it was claimed, or the other way round; a
    /// subscription is always known.
    private func claimed(_ type: ProductType?, _ claims: [ProductType?: Date]) -> Date? {
        guard let type else { return claims.filter { $0.key != .autoRenewable }.values.min() }
        return [claims[type], type == .autoRenewable ? nil : claims[.none]].compactMap { $0 ?? nil }.min()
    }
}
