public import Foundation

/// A receipt as it waits in the inbox.
public struct InboxReceipt: Hashable, Sendable {
    public let id: Int64
    /// As it was handed in; it need not be a valid one.
    public let bundleID: String
    public let userID: String?
    public let orderID: String?
    /// The transactions that the client said the receipt is for, each with the order it named.
    public let purposes: [Purpose]
    public let submittedAt: Date
    /// The trouble that it met when it was last tried; `nil` if there was none, or if it was not tried yet.
    public let trouble: ReceiptTrouble?
    /// When it was last handed in again for another purchase or order, or after a week; `nil` if it never was.
    public let uploadedAgainAt: Date?

    /// What a receipt was uploaded for.
    public struct Purpose: Hashable, Sendable, Codable {
        public let transactionID: String?
        public let orderID: String?

        public init(transactionID: String?, orderID: String?) {
            self.transactionID = transactionID
            self.orderID = orderID
        }
    }

    public init(
        id: Int64, bundleID: String, userID: String?, orderID: String?, purposes: [Purpose], submittedAt: Date,
        trouble: ReceiptTrouble? = nil, uploadedAgainAt: Date? = nil
    ) {
        self.id = id
        self.bundleID = bundleID
        self.userID = userID
        self.orderID = orderID
        self.purposes = purposes
        self.submittedAt = submittedAt
        self.trouble = trouble
        self.uploadedAgainAt = uploadedAgainAt
    }

    /// Whether the client uploaded this receipt for that very transaction. A receipt that names no transaction, such
    /// as a launch upload, was uploaded for none of them.
    public func isNamed(_ id: TransactionID) -> Bool {
        purposes.contains { $0.transactionID == id.text }
    }

    /// Whether the client named no transaction with any upload of it.
    var namesNothing: Bool { purposes.allSatisfy { $0.transactionID == nil } }

    /// The order that came with the upload for that transaction.
    public func orderID(for id: TransactionID) -> String? {
        purposes.first { $0.transactionID == id.text && $0.orderID != nil }?.orderID ?? (namesNothing ? orderID : nil)
    }
}
