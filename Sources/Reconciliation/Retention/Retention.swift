public import Foundation

/// How long what receipts hold is kept once nothing is open on them; `nil` for ever. The ledger's rows stay anyway.
public struct Retention: Hashable, Sendable {
    /// Seconds since the receipt was last tried.
    public var payloads: TimeInterval?
    public var devices: TimeInterval?

    public init(payloads: TimeInterval? = 180 * 86_400, devices: TimeInterval? = 90 * 86_400) {
        self.payloads = payloads
        self.devices = devices
    }
}

/// How much a purge took away.
public struct Purged: Hashable, Sendable {
    public var payloads: Int
    public var devices: Int

    public init(payloads: Int = 0, devices: Int = 0) {
        self.payloads = payloads
        self.devices = devices
    }

    public var total: Int { payloads + devices }

    public static func += (a: inout Purged, b: Purged) {
        a.payloads += b.payloads
        a.devices += b.devices
    }
}
