public import Foundation

/// How long what receipts hold is kept once nothing about them is open, and how long an order that was never paid;
/// `nil` for ever. The ledger's rows stay anyway.
public struct Retention: Hashable, Sendable {
    /// Seconds since the receipt was last tried.
    public var payloads: TimeInterval?
    public var devices: TimeInterval?
    /// Seconds since the order was opened.
    public var orders: TimeInterval?
    /// Seconds for which a notification that could not be taken is kept: anybody may post to an app's server.
    public static let refusedNotices: TimeInterval = 30 * 86_400

    public init(
        payloads: TimeInterval? = 180 * 86_400, devices: TimeInterval? = 90 * 86_400, orders: TimeInterval? = nil
    ) {
        self.payloads = payloads
        self.devices = devices
        self.orders = orders
    }
}

/// How much a purge took away.
public struct Purged: Hashable, Sendable, Codable {
    public var payloads: Int
    public var devices: Int
    public var orders: Int
    /// Notifications that could not be taken.
    public var notices: Int

    public init(payloads: Int = 0, devices: Int = 0, orders: Int = 0, notices: Int = 0) {
        self.payloads = payloads
        self.devices = devices
        self.orders = orders
        self.notices = notices
    }

    public var total: Int { payloads + devices + orders + notices }

    public static func += (a: inout Purged, b: Purged) {
        a.payloads += b.payloads
        a.devices += b.devices
        a.orders += b.orders
        a.notices += b.notices
    }
}
