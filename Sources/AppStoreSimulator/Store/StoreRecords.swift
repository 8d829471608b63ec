public import Foundation

/// A refund, as Apple writes it into later answers.
public struct Refund: Hashable, Sendable {
    public let at: Date
    /// `1`: a problem with the app; `0`: another.
    public let reason: String
    /// Whether the customer went over to a higher product of the group: what is left of the period was paid back.
    public let isUpgrade: Bool

    public init(at: Date, reason: String = "0", isUpgrade: Bool = false) {
        self.at = at
        self.reason = reason
        self.isUpgrade = isUpgrade
    }
}

/// An auto-renewable subscription: its periods, with those that are still to come.
public struct Subscription: Hashable, Sendable {
    /// In the order of time; the first one's id is the original id of all.
    public var periods: [SimulatedTransaction]
    public var renews: Bool
    /// For how many seconds Apple keeps it going where it can't be charged for; `nil` where the app does not want that.
    public var billingGrace: TimeInterval?

    public init(periods: [SimulatedTransaction], renews: Bool = true, billingGrace: TimeInterval? = nil) {
        self.periods = periods
        self.renews = renews
        self.billingGrace = billingGrace
    }
}

/// What the store knows beside what receipts say of themselves: what happened after they were made.
public struct StoreRecords: Sendable {
    private typealias TransactionKey = PurchaseBooks.ID

    public private(set) var apps: [String: SimulatedApp]
    private var refunds: [TransactionKey: Refund] = [:]
    private var subscriptions: [TransactionKey: Subscription] = [:]
    private var deletedAccounts: Set<String> = []
    private var books = PurchaseBooks()

    public init(apps: [SimulatedApp] = []) {
        self.apps = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { $1 })
    }

    public mutating func add(_ app: SimulatedApp) {
        apps[app.bundleID] = app
    }

    /// Answers tell the refund once its time has come.
    public mutating func refund(
        _ transactionID: String, _ refund: Refund, in environment: StoreEnvironment = .production
    ) {
        refunds[TransactionKey(environment: environment, transactionID: transactionID)] = refund
    }

    /// Answers tell of no refund any more: the customer's dispute was lost, and Apple took the money again.
    public mutating func reverseRefund(of transactionID: String, in environment: StoreEnvironment = .production) {
        refunds[TransactionKey(environment: environment, transactionID: transactionID)] = nil
    }

    /// Answers for any receipt that holds one of the subscription's periods tell those that have begun.
    public mutating func add(_ subscription: Subscription, in environment: StoreEnvironment = .production) {
        guard let first = subscription.periods.first else { return }
        subscriptions[TransactionKey(environment: environment, transactionID: first.originalID)] = subscription
    }

    /// The App Store Server API tells of the purchase once it was made.
    public mutating func add(_ purchase: StoredPurchase) {
        books.add(purchase)
    }

    /// Receipts of this account are answered with 21010 from now on, and the App Store Server API knows it no more.
    public mutating func delete(account: String) {
        deletedAccounts.insert(account)
    }

    func refund(of transactionID: String, in environment: StoreEnvironment, at now: Date) -> Refund? {
        let key = TransactionKey(environment: environment, transactionID: transactionID)
        return refunds[key].flatMap { $0.at <= now ? $0 : nil }
    }

    func subscription(_ originalID: String, in environment: StoreEnvironment) -> Subscription? {
        subscriptions[TransactionKey(environment: environment, transactionID: originalID)]
    }

    func purchase(_ transactionID: String, in environment: StoreEnvironment) -> StoredPurchase? {
        books[TransactionKey(environment: environment, transactionID: transactionID)]
    }

    func purchases(of account: String, in environment: StoreEnvironment, bundleID: String) -> [StoredPurchase] {
        books.of(account, in: environment, bundleID: bundleID)
    }

    func purchases(in environment: StoreEnvironment, bundleID: String) -> [StoredPurchase] {
        books.all(in: environment, bundleID: bundleID)
    }

    /// Of production: in the sandbox there are no invoices.
    func purchases(ofOrder orderID: String) -> [StoredPurchase] {
        books.ofOrder(orderID).filter { $0.environment == .production }
    }

    func isDeleted(_ account: String) -> Bool {
        deletedAccounts.contains(account)
    }
}
