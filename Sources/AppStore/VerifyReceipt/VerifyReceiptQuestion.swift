import Foundation

/// What is asked of an endpoint: one receipt, in the JSON that `verifyReceipt` takes.
struct VerifyReceiptQuestion: Sendable {
    let body: Data
    let hasSecret: Bool
    /// Which receipt of this run it is about.
    let number: Int

    init(receiptData: String, sharedSecret: String?, number: Int) {
        let fields = Fields(receiptData: receiptData, password: sharedSecret)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        // Two strings and a Boolean always encode.
        self.body = (try? encoder.encode(fields)) ?? Data()
        self.hasSecret = sharedSecret != nil
        self.number = number
    }

    private struct Fields: Encodable {
        enum CodingKeys: String, CodingKey {
            case receiptData = "receipt-data"
            case password
            case excludeOldTransactions = "exclude-old-transactions"
        }

        let receiptData: String
        let password: String?
        let excludeOldTransactions = false
    }
}
