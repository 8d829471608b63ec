import Foundation

/// A transaction in the store's own books, whether a receipt ever shows it or not.
public struct StoredPurchase: Hashable, Sendable {
    public let transaction: SimulatedTransaction
    public let bundleID: String
    public let environment: StoreEnvironment
    /// Stands for the Apple account that bought.
    public let account: String

    public init(
        _ transaction: SimulatedTransaction, bundleID: String, environment: StoreEnvironment = .production,
        account: String
    ) {
        self.transaction = transaction
        self.bundleID = bundleID
        self.environment = environment
        self.account = account
    }

    /// From when on the store knows of it.
    var at: Date { transaction.purchasedAt }

    /// The order's id on the customer's invoice, such as `MK5TTTVWJH`; a renewal is an order of its own.
    public var orderID: String {
        var random = SeededRandom(seed: StableHash.of("\(environment.rawValue) \(transaction.id)".utf8))
        let letters = Array("0123456789BCDFGHJKLMNPQRSTVWXYZ")
        return "M" + String((0..<9).map { _ in random.pick(letters) })
    }
}

/// Purchases by their ids, accounts and orders.
struct PurchaseBooks: Sendable {
    struct ID: Hashable, Sendable {
        let environment: StoreEnvironment
        let transactionID: String
    }

    private struct Customer: Hashable {
        let environment: StoreEnvironment
        let bundleID: String
        let account: String
    }

    private var purchases: [ID: StoredPurchase] = [:]
    private var byCustomer: [Customer: [ID]] = [:]
    private var byOrder: [String: [ID]] = [:]
    /// Customers by their `appTransactionId`.
    private var byAppTransaction: [ID: Customer] = [:]

    mutating func add(_ purchase: StoredPurchase) {
        let id = ID(environment: purchase.environment, transactionID: purchase.transaction.id)
        guard purchases.updateValue(purchase, forKey: id) == nil else { return }
        let customer = Customer(
            environment: purchase.environment, bundleID: purchase.bundleID, account: purchase.account)
        byCustomer[customer, default: []].append(id)
        let appTransactionID = SimulatedApp.appTransactionID(of: purchase.account, in: purchase.bundleID)
        byAppTransaction[ID(environment: purchase.environment, transactionID: appTransactionID)] = customer
        byOrder[purchase.orderID, default: []].append(id)
    }

    subscript(_ id: ID) -> StoredPurchase? { purchases[id] }

    func of(_ account: String, in environment: StoreEnvironment, bundleID: String) -> [StoredPurchase] {
        let customer = Customer(environment: environment, bundleID: bundleID, account: account)
        return byCustomer[customer, default: []].compactMap { purchases[$0] }
    }

    func account(ofAppTransaction id: String, in environment: StoreEnvironment, bundleID: String) -> String? {
        let customer = byAppTransaction[ID(environment: environment, transactionID: id)]
        return customer?.bundleID == bundleID ? customer?.account : nil
    }

    func all(in environment: StoreEnvironment, bundleID: String) -> [StoredPurchase] {
        purchases.values.filter { $0.environment == environment && $0.bundleID == bundleID }
    }

    func ofOrder(_ orderID: String) -> [StoredPurchase] {
        byOrder[orderID, default: []].compactMap { purchases[$0] }
    }
}
