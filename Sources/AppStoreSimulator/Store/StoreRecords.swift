public import Foundation

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
    /// How what the store tells the apps' servers by itself fares.
    public var notices = NoticePolicy()
    private var refunds: [TransactionKey: Refund] = [:]
    private var requests: [TransactionKey: ConsumptionRequest] = [:]
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

    /// Only a notification tells of it.
    public mutating func add(
        _ request: ConsumptionRequest, of transactionID: String, in environment: StoreEnvironment = .production
    ) {
        requests[TransactionKey(environment: environment, transactionID: transactionID)] = request
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
        anyRefund(of: transactionID, in: environment).flatMap { $0.isTold(at: now) ? $0 : nil }
    }

    /// Also one that is reversed by now, or still to come.
    func anyRefund(of transactionID: String, in environment: StoreEnvironment) -> Refund? {
        refunds[TransactionKey(environment: environment, transactionID: transactionID)]
    }

    func request(of transactionID: String, in environment: StoreEnvironment) -> ConsumptionRequest? {
        requests[TransactionKey(environment: environment, transactionID: transactionID)]
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

    /// The account that an id of its dealings with an app stands for.
    func account(ofAppTransaction id: String, in environment: StoreEnvironment, bundleID: String) -> String? {
        books.account(ofAppTransaction: id, in: environment, bundleID: bundleID)
    }

    package func purchases(in environment: StoreEnvironment, bundleID: String) -> [StoredPurchase] {
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
