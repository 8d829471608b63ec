public import Foundation

/// How the App Store Server API is asked.
public struct ServerAPISettings: Sendable, Hashable {
    /// Addresses without the path, such as `https://api.storekit.apple.com`. Until 2026 the hosts ended in
    /// `.itunes.apple.com`.
    public var production = "https://api.storekit.apple.com"
    public var sandbox = "https://api.storekit-sandbox.apple.com"
    /// Seconds for one request.
    public var timeout: TimeInterval = 30
    /// The most requests in flight to one environment; the adaptive limit never exceeds it.
    public var concurrency = 32
    public var limits = ServerAPILimits()
    public var retries = Backoff()
    public var circuit = CircuitBreaker.Thresholds()

    public init() {}
}

/// The most requests a second for one app, as Apple publishes them for production.
public struct ServerAPILimits: Sendable, Hashable {
    public var transactionInfo = 50.0
    public var history = 50.0
    public var subscriptionStatuses = 50.0
    public var orderLookup = 10.0
    public var refundHistory = 10.0
    public var notificationHistory = 50.0
    /// Sandbox's limits as a share of production's.
    public var sandboxShare = 0.1

    public init() {}

    func requestsPerSecond(_ operation: ServerAPIOperation, in environment: ServerEnvironment) -> Double {
        let production =
            switch operation {
            case .transactionInfo: transactionInfo
            case .history: history
            case .subscriptionStatuses: subscriptionStatuses
            case .orderLookup: orderLookup
            case .refundHistory: refundHistory
            case .notificationHistory: notificationHistory
            }
        return environment == .production ? production : production * sandboxShare
    }
}

/// The operations of the App Store Server API; each has a rate limit of its own.
enum ServerAPIOperation: Sendable, Hashable, CaseIterable {
    case transactionInfo, history, subscriptionStatuses, orderLookup, refundHistory, notificationHistory
}
