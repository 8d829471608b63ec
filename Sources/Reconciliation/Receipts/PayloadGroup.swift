/// The receipts that hold one payload of one app, whoever uploaded them: it is verified once for all of them.
public struct PayloadGroup: Sendable {
    public let bundleID: String
    public let payload: String
    public let receipts: [InboxReceipt]

    public init(bundleID: String, payload: String, receipts: [InboxReceipt]) {
        self.bundleID = bundleID
        self.payload = payload
        self.receipts = receipts
    }
}
