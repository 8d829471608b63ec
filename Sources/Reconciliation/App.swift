public import Foundation

/// What the rules need to know of one app; a section `[app …]` of the configuration.
public struct App: Hashable, Sendable {
    public let bundleID: BundleID
    /// The environment whose purchases are owed; those of the other are excluded as `sandbox`.
    public let environment: Environment
    public let grace: Grace
    /// Purchases before this moment are not this job's: they were settled before it was installed.
    public let since: Date?
    /// Where the app sells (ISO 3166-1 alpha-3); empty if the configuration does not say.
    public let storefronts: Set<String>
    /// Whether the app's server takes Apple's notifications (App Store Server Notifications V2).
    public let takesNotifications: Bool
    /// How the app's server delivers, as far as the configuration says.
    public let delivery: [ProductType: DeliveryMode]
    /// Which of the night's findings the app's server delivers without the customer.
    public var redelivery = RedeliveryMode.never
    /// The values from which on its figures are reported first.
    public var thresholds = Thresholds()

    /// - Parameter delivery: for a type that it leaves out, what the app's server did so far decides.
    public init(
        bundleID: BundleID, environment: Environment, grace: Grace, since: Date?, storefronts: Set<String> = [],
        takesNotifications: Bool = true, delivery: [ProductType: DeliveryMode] = DeliveryMode.allClaimed
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.grace = grace
        self.since = since
        self.storefronts = storefronts
        self.takesNotifications = takesNotifications
        self.delivery = delivery
    }
}

extension App {
    /// Whether the app lists its storefronts, and this is none of them.
    public func isUnexpected(storefront: String) -> Bool {
        !storefronts.isEmpty && !storefronts.contains(storefront)
    }
}

/// How long after its purchase a transaction may still be claimed normally, by product type; before that it is
/// pending, and no case.
public struct Grace: Hashable, Sendable {
    /// Seconds for each type.
    private let seconds: [ProductType: TimeInterval]
    /// Seconds for a product whose type is not known.
    private let otherwise: TimeInterval

    /// One grace for every type, in seconds, unless `byType` has another.
    public init(_ otherwise: TimeInterval, byType: [ProductType: TimeInterval] = [:]) {
        self.otherwise = otherwise
        self.seconds = byType
    }

    /// The grace in seconds of a product of this type.
    public func seconds(for type: ProductType?) -> TimeInterval {
        type.flatMap { seconds[$0] } ?? otherwise
    }
}
