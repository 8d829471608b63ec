import Foundation

/// What one customer does, step by step: buying, uploading receipts, being served, finishing transactions.
/// Steps are told in the order of time, since a receipt holds what is unfinished or lasting at its moment.
struct Story {
    static let day = 86_400.0

    let customer: Customer
    let settings: WorldSettings
    var random: SeededRandom
    var scenario = Scenario.ordinary
    private(set) var events = WorldEvents()
    /// What a receipt made now would hold.
    private var held: [SimulatedTransaction] = []
    private var transactionCount = 0

    init(customer: Customer, settings: WorldSettings, random: SeededRandom) {
        self.customer = customer
        self.settings = settings
        self.random = random
    }

    var now: Date { settings.now }
    var catalog: Catalog { customer.catalog }

    // MARK: Moments

    /// A moment of the world that leaves so many seconds until its end.
    mutating func moment(leaving seconds: Double) -> Date {
        let span = max(1, Double(settings.days) * Self.day - seconds)
        return now.addingTimeInterval(-seconds - (Mix.share(random.next()) * span).rounded(.down))
    }

    // MARK: Buying

    /// Pays for a product. A consumable stays in receipts until it is finished, all else for ever.
    mutating func buy(_ product: CatalogProduct, at moment: Date) -> SimulatedTransaction {
        let transaction = SimulatedTransaction(
            id: nextID(), productID: product.id, productType: product.type,
            quantity: product.kind == .consumable && random.happens(0.05) ? 2 : 1, purchasedAt: moment,
            originalPurchasedAt: moment.addingTimeInterval(Double(random.next() % 3)), price: product.price)
        record(transaction)
        return transaction
    }

    /// Subscribes by the week; the store renews until some weeks after the world's end, or until it was cancelled.
    mutating func subscribe(at begin: Date, weeks: Int, renews: Bool) -> Subscription {
        let originalID = nextID()
        var periods: [SimulatedTransaction] = []
        for week in 0..<weeks {
            let moment = begin.addingTimeInterval(Double(week) * 7 * Self.day)
            periods.append(
                SimulatedTransaction(
                    id: week == 0 ? originalID : nextID(), originalID: originalID, productID: catalog.subscription.id,
                    purchasedAt: moment, originalPurchasedAt: begin,
                    expiresAt: moment.addingTimeInterval(7 * Self.day), price: catalog.subscription.price))
        }
        for period in periods { store(period) }
        for period in periods where period.purchasedAt <= now { note(period) }
        held += periods.prefix(1)
        let subscription = Subscription(periods: periods, renews: renews)
        events.subscriptions.append(subscription)
        return subscription
    }

    /// Restores a non-consumable: the store gives the same purchase a new transaction id.
    mutating func restore(_ transaction: SimulatedTransaction, at moment: Date) -> SimulatedTransaction {
        let restored = SimulatedTransaction(
            id: nextID(), originalID: transaction.id, productID: transaction.productID,
            productType: transaction.productType, purchasedAt: moment, originalPurchasedAt: transaction.purchasedAt,
            price: transaction.price)
        store(restored)
        held.removeAll { $0.id == transaction.id }
        held.append(restored)
        return restored
    }

    /// What is in receipts without this customer having paid.
    mutating func hold(_ transaction: SimulatedTransaction) {
        store(transaction)
        held.append(transaction)
    }

    /// Writes a transaction into Apple's books.
    mutating func store(
        _ transaction: SimulatedTransaction, bundleID: String? = nil, environment: StoreEnvironment = .production
    ) {
        events.stored.append(
            StoredPurchase(
                transaction, bundleID: bundleID ?? catalog.bundleID, environment: environment,
                account: customer.account))
    }

    mutating func finish(_ transaction: SimulatedTransaction) {
        held.removeAll { $0.id == transaction.id && !$0.isAutoRenewable }
    }

    mutating func refund(_ transaction: SimulatedTransaction, at moment: Date) {
        events.refunds.append((transaction.id, Refund(at: moment, reason: random.happens(0.3) ? "1" : "0")))
    }

    mutating func deleteAccount() { events.deletedAccounts.append(customer.account) }

    private mutating func record(_ transaction: SimulatedTransaction) {
        note(transaction)
        store(transaction)
        held.append(transaction)
    }

    private mutating func note(_ transaction: SimulatedTransaction) {
        events.purchases.append(
            Purchase(
                bundleID: catalog.bundleID, transaction: transaction, userID: customer.userID,
                account: customer.account, scenario: scenario))
    }

    /// 15 digits, for some customers 18; no two of a world are the same, since the factor has no divisor in common
    /// with the modulus.
    mutating func nextID() -> String {
        let number = UInt64(customer.number) * 64 + UInt64(transactionCount)
        transactionCount += 1
        let digits = String(1_000_000_000_000 + number * 387_420_489 % 1_000_000_000_000).dropFirst()
        return "\(100 + settings.seed % 800)\(digits)\(customer.number % 50 == 9 ? "001" : "")"
    }

    // MARK: The client and the app's server

    /// The receipt on the device at a moment.
    func receipt(at moment: Date) -> SimulatedReceipt {
        SimulatedReceipt(
            bundleID: catalog.bundleID, account: customer.account, createdAt: moment, transactions: held)
    }

    /// Hands a receipt in, for a transaction or on launch for none, and gives the upload's number.
    @discardableResult
    mutating func upload(
        _ receipt: SimulatedReceipt, for transaction: SimulatedTransaction? = nil, by userID: String? = nil,
        at moment: Date
    ) -> Int {
        add(.receipt(receipt), for: transaction, by: userID, at: moment)
    }

    /// Hands in what no store can read.
    mutating func upload(unreadable content: Upload.Content, at moment: Date) {
        add(content, for: nil, by: nil, at: moment)
    }

    /// The app's server admits the transaction and claims it, unless that fails halfway.
    mutating func deliver(
        _ transaction: SimulatedTransaction, from upload: Int, at moment: Date, isRolledBack: Bool = false
    ) {
        events.deliveries.append(
            Delivery(
                bundleID: catalog.bundleID, transaction: transaction, userID: customer.userID,
                orderID: orderID(of: transaction), upload: upload, at: moment, isRolledBack: isRolledBack))
    }

    /// A purchase as it should go: paid, handed in, delivered, finished.
    @discardableResult
    mutating func receive(_ product: CatalogProduct, at moment: Date) -> SimulatedTransaction {
        let transaction = buy(product, at: moment)
        let upload = upload(
            receipt(at: moment.addingTimeInterval(2)), for: transaction, at: moment.addingTimeInterval(3))
        deliver(transaction, from: upload, at: moment.addingTimeInterval(Double(5 + random.next() % 600)))
        if product.kind == .consumable { finish(transaction) }
        return transaction
    }

    private func orderID(of transaction: SimulatedTransaction) -> String {
        "order-\(transaction.id.suffix(12))"
    }

    @discardableResult
    private mutating func add(
        _ content: Upload.Content, for transaction: SimulatedTransaction?, by userID: String?, at moment: Date
    ) -> Int {
        events.uploads.append(
            Upload(
                bundleID: catalog.bundleID, userID: userID ?? customer.userID, content: content,
                transactionID: transaction?.id, orderID: transaction.map(orderID), device: customer.device,
                at: moment))
        return events.uploads.count - 1
    }
}
