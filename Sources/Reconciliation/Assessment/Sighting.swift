public import Foundation

/// One receipt in which a transaction was seen, and who handed it in.
public struct Sighting: Hashable, Sendable, Codable {
    public let receiptID: Int64
    /// The user who uploaded the receipt, if one was logged in.
    public let userID: String?
    /// The order id that came with the receipt.
    public let orderID: String?
    /// Whether the receipt was uploaded for this very transaction; false when it only rode along.
    public let isNamed: Bool
    /// Whether the receipt holds it; otherwise Apple told of it in the history of the receipt's customer.
    public let isInReceipt: Bool
    /// When the receipt was first uploaded.
    public let uploadedAt: Date

    public init(
        receiptID: Int64, userID: String?, orderID: String?, isNamed: Bool, isInReceipt: Bool = true, uploadedAt: Date
    ) {
        self.receiptID = receiptID
        self.userID = userID
        self.orderID = orderID
        self.isNamed = isNamed
        self.isInReceipt = isInReceipt
        self.uploadedAt = uploadedAt
    }
}
