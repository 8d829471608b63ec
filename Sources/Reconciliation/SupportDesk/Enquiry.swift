public import Foundation

/// Everything that is known about an id that somebody asks the support desk about. It holds all that the text names, in
/// several apps or environments, or as several sorts of id.
public struct Enquiry: Hashable, Sendable {
    public let id: String
    /// Transactions that the ledger knows, the latest purchase first.
    public var transactions: [KnownTransaction] = []
    /// The app's own orders of this id.
    public var orders: [KnownOrder] = []
    /// The user of this id, if one is known.
    public var user: KnownUser?
    /// Claims of transactions that are in none of the ledger's tables.
    public var strayClaims: [StrayClaim] = []
    /// Receipts that are not verified, or can't be, and have to do with the id.
    public var troubledReceipts: [KnownReceipt] = []
    /// Whether there is more than is listed.
    public var isCut = false
    public var apple = AppleAnswer.notNeeded

    public init(id: String) {
        self.id = id
    }
}

/// An order of the app's own.
public struct KnownOrder: Hashable, Sendable {
    public let bundleID: String
    public let orderID: String
    public let userID: String
    public let productID: String
    public let quantity: Int
    public let createdAt: Date

    public init(
        bundleID: String, orderID: String, userID: String, productID: String, quantity: Int, createdAt: Date
    ) {
        self.bundleID = bundleID
        self.orderID = orderID
        self.userID = userID
        self.productID = productID
        self.quantity = quantity
        self.createdAt = createdAt
    }
}

/// A claim of a transaction that nobody has verified.
public struct StrayClaim: Hashable, Sendable {
    public let transactionID: String
    public let bundleID: String
    public let attempt: ClaimAttempt

    public init(transactionID: String, bundleID: String, attempt: ClaimAttempt) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.attempt = attempt
    }
}

/// A user of the apps. Open cases are among the enquiry's transactions.
public struct KnownUser: Hashable, Sendable {
    /// The latest deliveries, the latest first.
    public let deliveries: [Delivered]
    /// How many of the user's receipts wait to be verified.
    public let waitingReceipts: Int
    /// How many of them hold a purchase that nobody has claimed yet.
    public let watchedReceipts: Int
    public let receipts: Int

    public init(deliveries: [Delivered], waitingReceipts: Int, watchedReceipts: Int, receipts: Int) {
        self.deliveries = deliveries
        self.waitingReceipts = waitingReceipts
        self.watchedReceipts = watchedReceipts
        self.receipts = receipts
    }

    /// One delivery in a list of them.
    public struct Delivered: Hashable, Sendable {
        public let key: TransactionKey
        public let productID: ProductID
        public let delivery: Delivery

        public init(key: TransactionKey, productID: ProductID, delivery: Delivery) {
            self.key = key
            self.productID = productID
            self.delivery = delivery
        }
    }
}

/// A receipt and how it stands.
public struct KnownReceipt: Hashable, Sendable {
    public let receiptID: Int64
    public let bundleID: String
    public let userID: String?
    public let orderID: String?
    /// What the client said it is for.
    public let transactionID: String?
    /// What the client said of its device, as JSON text.
    public let device: String?
    public let submittedAt: Date
    public let state: ReceiptState
    /// On how many nights it was tried in vain.
    public let attempts: Int
    /// What is the matter with it, and what was said in a sentence; `nil` if it was not tried yet.
    public let problem: ReceiptProblem?
    public let detail: String?

    public init(
        receiptID: Int64, bundleID: String, userID: String?, orderID: String?, transactionID: String?, device: String?,
        submittedAt: Date, state: ReceiptState, attempts: Int, problem: ReceiptProblem?, detail: String?
    ) {
        self.receiptID = receiptID
        self.bundleID = bundleID
        self.userID = userID
        self.orderID = orderID
        self.transactionID = transactionID
        self.device = device
        self.submittedAt = submittedAt
        self.state = state
        self.attempts = attempts
        self.problem = problem
        self.detail = detail
    }
}
