import PostgreSQL
import Reconciliation

extension CopyTarget {
    static let verified = CopyTarget(
        table: "verified",
        columns: [
            "bucket", "receipt_id", "user_id", "order_id", "is_named", "in_receipt", "uploaded_at", "is_best",
            "exclusion",
            "transaction_id", "bundle_id", "environment", "original_transaction_id", "product_id", "product_type",
            "quantity", "purchased_at", "original_purchased_at", "expires_at", "refunded_at", "refund_reason",
            "ownership", "is_trial", "web_order_line_item_id", "app_account_token", "price_milliunits", "currency",
            "storefront", "found_bundle_id", "source", "verified_at",
        ])
}

extension LedgerSession {
    /// Copies the batch's sightings into the staging table.
    func stage(_ record: BatchRecord) async throws {
        let copied = try await connection.copyIn(into: .verified, rows: record.sightings.enumerated()) { item, row in
            row.append(Int16(record.bucket))
            item.element.append(to: &row, isBest: record.best.contains(item.offset))
        }
        guard copied == record.sightings.count else {
            throw LedgerError.failed("staged \(copied) of \(record.sightings.count) transactions")
        }
    }
}

extension SightedTransaction {
    fileprivate func append(to row: inout CopyRow, isBest: Bool) {
        row.append(receiptID)
        row.append(userID)
        row.append(orderID)
        row.append(isNamed)
        row.append(isInReceipt)
        row.append(uploadedAt)
        row.append(isBest)
        row.append(exclusion?.rawValue)
        row.append(key.id.text)
        row.append(key.bundleID.text)
        row.append(key.environment.rawValue)
        row.append(transaction.originalID.text)
        row.append(transaction.productID.text)
        row.append(productType?.rawValue)
        row.append(Int32(clamping: transaction.quantity))
        row.append(transaction.purchasedAt)
        row.append(transaction.originalPurchasedAt)
        row.append(transaction.expiresAt)
        row.append(transaction.refundedAt)
        row.append(transaction.refundReason)
        row.append(transaction.ownership)
        row.append(transaction.isTrial)
        row.append(transaction.webOrderLineItemID)
        row.append(transaction.appAccountToken)
        row.append(transaction.price?.milliunits)
        row.append(transaction.price?.currency.text)
        row.append(transaction.storefront)
        row.append(foundBundleID?.text)
        row.append(source.rawValue)
        row.append(verifiedAt)
    }
}
