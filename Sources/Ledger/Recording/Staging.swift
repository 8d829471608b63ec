import PostgreSQL
import Reconciliation

/// The session's own tables in which batches of receipts, or of notices, lie until they are taken. They have the
/// columns of the schema's types, and are empty again when the transaction ends.
enum Staging {
    case batches, notices

    /// Made outside of any transaction: one that is rolled back would take them away.
    var definition: String {
        let heard = "CREATE TEMPORARY TABLE IF NOT EXISTS heard OF iap.verified ON COMMIT DELETE ROWS;"
        return switch self {
        case .batches: heard + "CREATE TEMPORARY TABLE IF NOT EXISTS seen OF iap.sighted ON COMMIT DELETE ROWS;"
        case .notices: heard + "CREATE TEMPORARY TABLE IF NOT EXISTS told OF iap.notice ON COMMIT DELETE ROWS;"
        }
    }

    /// What is said of each transaction.
    static let heard = CopyTarget(
        table: "heard",
        columns: [
            "transaction_id", "bundle_id", "environment", "original_transaction_id", "product_id", "product_type",
            "quantity", "purchased_at", "original_purchased_at", "expires_at", "is_trial", "web_order_line_item_id",
            "app_account_token", "price_milliunits", "currency", "storefront", "found_bundle_id", "refunded_at",
            "refund_reason", "source", "verified_at", "exclusion", "revocation_type", "revocation_percentage",
            "app_transaction_id", "confirmed_at", "made_at", "exclusion_besides", "number",
        ])

    /// The receipts in which they were seen: transactions of a receipt that were seen alike are one row.
    static let seen = CopyTarget(
        table: "seen",
        columns: ["numbers", "receipt_id", "user_id", "order_id", "is_named", "in_receipt", "uploaded_at"])
}

extension LedgerSession {
    /// Prepares what `record` needs of the session, which costs nothing while nothing can be recorded yet.
    public func prepareToRecord() async throws(LedgerError) {
        try await translating { try await prepare(.batches) }
    }

    /// Makes the session's staging tables, unless it has them.
    func prepare(_ staging: Staging) async throws {
        guard !stagings.contains(staging) else { return }
        try await connection.executeScript(unsafe: staging.definition)
        stagings.insert(staging)
    }

    /// Copies the batch into the session's staging tables.
    func stage(_ record: BatchRecord) async throws {
        try await stage(heard: record.heard)
        let runs = record.sightings.runsSeenAlike
        let seen = try await connection.copyIn(into: Staging.seen, rows: runs) { run, row in
            row.append(Array(record.numbers[run]))
            record.sightings[run.lowerBound].appendReceipt(to: &row)
        }
        guard seen == runs.count else {
            throw LedgerError.failed("staged \(seen) of \(runs.count) groups of sightings")
        }
    }

    /// Copies what is said of each transaction, numbered in this order.
    func stage(heard transactions: [ScreenedTransaction]) async throws {
        let staged = try await connection.copyIn(into: Staging.heard, rows: transactions.enumerated()) { item, row in
            item.element.append(to: &row)
            row.append(Int32(truncatingIfNeeded: item.offset))
        }
        guard staged == transactions.count else {
            throw LedgerError.failed("staged \(staged) of \(transactions.count) transactions")
        }
    }
}

extension ScreenedTransaction {
    fileprivate func append(to row: inout CopyRow) {
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
        row.append(transaction.isTrial)
        row.append(transaction.webOrderLineItemID)
        row.append(transaction.appAccountToken)
        row.append(transaction.price?.milliunits)
        row.append(transaction.price?.currency.text)
        row.append(transaction.storefront)
        row.append(foundBundleID?.text)
        row.append(transaction.refundedAt)
        row.append(transaction.refundReason)
        row.append(source.rawValue)
        row.append(verifiedAt)
        row.append(exclusion?.rawValue)
        row.append(transaction.revocationType)
        row.append(transaction.revocationPercentage.map(Int32.init))
        row.append(transaction.appTransactionID)
        row.append(confirmedAt)
        row.append(madeAt)
        row.append(exclusionBesides?.rawValue)
    }
}

extension [SightedTransaction] {
    /// The stretches of sightings that differ in nothing but their transaction.
    fileprivate var runsSeenAlike: [Range<Int>] {
        var runs: [Range<Int>] = []
        var start = startIndex
        for index in indices.dropFirst() where !self[index].isSeenAlike(self[start]) {
            runs.append(start..<index)
            start = index
        }
        return isEmpty ? [] : runs + [start..<endIndex]
    }
}

extension SightedTransaction {
    fileprivate func isSeenAlike(_ other: SightedTransaction) -> Bool {
        receiptID == other.receiptID && isNamed == other.isNamed && isInReceipt == other.isInReceipt
            && orderID == other.orderID
    }

    fileprivate func appendReceipt(to row: inout CopyRow) {
        row.append(receiptID)
        row.append(userID)
        row.append(orderID)
        row.append(isNamed)
        row.append(isInReceipt)
        row.append(uploadedAt)
    }
}
