public import Foundation

/// An auto-renewable subscription: its periods, including future ones.
public struct Subscription: Hashable, Sendable {
    /// In chronological order; the id of the first is the original id of all.
    public var periods: [SimulatedTransaction]
    public var renews: Bool
    /// The seconds for which Apple keeps it going if it can't be charged for; `nil` if the app does not want that.
    public var billingGrace: TimeInterval?

    public init(periods: [SimulatedTransaction], renews: Bool = true, billingGrace: TimeInterval? = nil) {
        self.periods = periods
        self.renews = renews
        self.billingGrace = billingGrace
    }
}

/// What the store knows beyond the receipts: what happened after they were made.
public struct StoreRecords: Sendable {
    private typealias TransactionKey = PurchaseBooks.ID

    public private(set) var apps: [String: SimulatedApp]
    /// What becomes of the notifications to the apps' servers.
    public var notices = NoticePolicy()
    private var refunds: [TransactionKey: Refund] = [:]
    private var requests: [TransactionKey: ConsumptionRequest] = [:]
    private var subscriptions: [TransactionKey: Subscription] = [:]
    private var deletedAccounts: Set<String> = []
    private var books = PurchaseBooks()

    public init(apps: [SimulatedApp] = []) {
        self.apps = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { $1 })
    }

    /// Lets the store sell an app. One with the same bundle id takes the earlier one's place.
    public mutating func add(_ app: SimulatedApp) {
        apps[app.bundleID] = app
    }

    /// Adds a refund, which answers show from its time on.
    public mutating func refund(
        _ transactionID: String, _ refund: Refund, in environment: StoreEnvironment = .production
    ) {
        refunds[TransactionKey(environment: environment, transactionID: transactionID)] = refund
    }

    /// Removes a refund from answers: the customer's dispute was lost, and Apple took the money again.
    public mutating func reverseRefund(of transactionID: String, in environment: StoreEnvironment = .production) {
        refunds[TransactionKey(environment: environment, transactionID: transactionID)] = nil
    }

    /// Adds a request, which only a notification shows.
    public mutating func add(
        _ request: ConsumptionRequest, of transactionID: String, in environment: StoreEnvironment = .production
    ) {
        requests[TransactionKey(environment: environment, transactionID: transactionID)] = request
    }

    /// Adds a subscription; answers for any receipt with one of its periods show those that have begun.
    public mutating func add(_ subscription: Subscription, in environment: StoreEnvironment = .production) {
        guard let first = subscription.periods.first else { return }
        subscriptions[TransactionKey(environment: environment, transactionID: first.originalID)] = subscription
    }

    /// Adds a purchase, which the App Store Server API shows once it was made.
    public mutating func add(_ purchase: StoredPurchase) {
        books.add(purchase)
    }

    /// Deletes an account: its receipts are answered with 21010, and the App Store Server API no longer knows it.
    public mutating func delete(account: String) {
        deletedAccounts.insert(account)
    }

    func refund(of transactionID: String, in environment: StoreEnvironment, at now: Date) -> Refund? {
        anyRefund(of: transactionID, in: environment).flatMap { $0.isTold(at: now) ? $0 : nil }
    }

    /// A refund, even one that was reversed or is still to come.
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

    /// The account with an `appTransactionId`.
    func account(ofAppTransaction id: String, in environment: StoreEnvironment, bundleID: String) -> String? {
        books.account(ofAppTransaction: id, in: environment, bundleID: bundleID)
    }

    /// All purchases in an app.
    package func purchases(in environment: StoreEnvironment, bundleID: String) -> [StoredPurchase] {
        books.all(in: environment, bundleID: bundleID)
    }

    /// Of production only: in the sandbox there are no invoices.
    func purchases(ofOrder orderID: String) -> [StoredPurchase] {
        books.ofOrder(orderID).filter { $0.environment == .production }
    }

    func isDeleted(_ account: String) -> Bool {
        deletedAccounts.contains(account)
    }
}
