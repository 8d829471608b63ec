public import Foundation

/// How the App Store Server API is asked.
public struct ServerAPISettings: Sendable, Hashable {
    /// Addresses without the path, such as `https://api.storekit.apple.com`. Until 2026 the hosts ended in
    /// `.itunes.apple.com`.
    public var production: String
    public var sandbox: String
    /// Seconds for one request.
    public var timeout: TimeInterval
    /// The most requests in flight to one environment; the adaptive limit never exceeds it.
    public var concurrency: Int
    public var limits: ServerAPILimits
    public var retries: Backoff
    public var circuit: CircuitBreaker.Thresholds

    public init(
        production: String = "https://api.storekit.apple.com",
        sandbox: String = "https://api.storekit-sandbox.apple.com", timeout: TimeInterval = 30,
        concurrency: Int = 32, limits: ServerAPILimits = ServerAPILimits(), retries: Backoff = Backoff(),
        circuit: CircuitBreaker.Thresholds = CircuitBreaker.Thresholds()
    ) {
        self.production = production
        self.sandbox = sandbox
        self.timeout = timeout
        self.concurrency = concurrency
        self.limits = limits
        self.retries = retries
        self.circuit = circuit
    }
}

/// The most requests a second for one app, as Apple publishes them for production.
public struct ServerAPILimits: Sendable, Hashable {
    public var transactionInfo: Double
    public var history: Double
    public var subscriptionStatuses: Double
    public var orderLookup: Double
    public var refundHistory: Double
    public var notificationHistory: Double
    /// Sandbox's limits as a share of production's.
    public var sandboxShare: Double

    public init(
        transactionInfo: Double = 50, history: Double = 50, subscriptionStatuses: Double = 50,
        orderLookup: Double = 10, refundHistory: Double = 10, notificationHistory: Double = 50,
        sandboxShare: Double = 0.1
    ) {
        self.transactionInfo = transactionInfo
        self.history = history
        self.subscriptionStatuses = subscriptionStatuses
        self.orderLookup = orderLookup
        self.refundHistory = refundHistory
        self.notificationHistory = notificationHistory
        self.sandboxShare = sandboxShare
    }

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
