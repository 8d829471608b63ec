import Foundation

/// The answer for an iOS 6 style transaction receipt: one flat object, the bundle id in `bid`.
struct FlatAnswer {
    let answer: ReceiptAnswer

    private var receipt: SimulatedReceipt { answer.receipt }

    func write(to text: inout JSONText) {
        guard let transaction = receipt.transactions.first else { return }
        let hasExpired = transaction.expiresAt.map { $0 <= answer.now } ?? false
        text.object("receipt") { write(transaction, to: &$0) }
        if transaction.isAutoRenewable {
            text.object(hasExpired ? "latest_expired_receipt_info" : "latest_receipt_info") {
                write(transaction, to: &$0)
            }
        }
        text.field("status", number: hasExpired ? 21006 : 0)
    }

    private func write(_ transaction: SimulatedTransaction, to object: inout JSONText) {
        object.field("quantity", String(transaction.quantity))
        object.field("product_id", transaction.productID)
        object.field("transaction_id", transaction.id)
        object.field("original_transaction_id", transaction.originalID)
        object.date("purchase_date", transaction.purchasedAt)
        object.date("original_purchase_date", transaction.originalPurchasedAt)
        if let expiresAt = transaction.expiresAt { writeExpiry(expiresAt, of: transaction, to: &object) }
        answer.writeRefund(of: transaction, to: &object)
        if let itemID = receipt.itemID { object.field("item_id", itemID) }
        if let app = answer.records.apps[receipt.bundleID], receipt.environment == .production {
            object.field("app_item_id", String(app.adamID))
        }
        object.field("bid", receipt.bundleID)
        object.field("bvrs", receipt.applicationVersion)
        object.field("unique_identifier", String(StableHash.of(receipt.account.utf8), radix: 16))
        object.field("unique_vendor_identifier", "88DE8B5A-0B5C-48F6-A014-CBA8A07858BC")
    }

    /// Writes the end of a period: here `expires_date` holds the milliseconds, and the texts have names of their own.
    private func writeExpiry(_ expiresAt: Date, of transaction: SimulatedTransaction, to object: inout JSONText) {
        object.field("expires_date", String(expiresAt.unixMilliseconds))
        object.text("expires_date_formatted", expiresAt, in: .gmt)
        object.text("expires_date_formatted_pst", expiresAt, in: .pacific)
        object.field("web_order_line_item_id", transaction.webOrderLineItemID)
        object.field("is_trial_period", transaction.isTrial ? "true" : "false")
    }
}
