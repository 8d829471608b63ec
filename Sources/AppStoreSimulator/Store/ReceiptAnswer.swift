import Foundation

/// The answer for a genuine receipt: its content, and what became of it since.
struct ReceiptAnswer {
    let receipt: SimulatedReceipt
    let records: StoreRecords
    let now: Date
    let signer: ReceiptSigner
    let excludesOldTransactions: Bool

    func json() -> [UInt8] {
        var text = JSONText(capacity: 1024 + receipt.transactions.count * 1024)
        text.object { answer in
            switch receipt.style {
            case .appReceipt: writeAppReceipt(to: &answer)
            case .transactionReceipt, .signedTransaction: FlatAnswer(answer: self).write(to: &answer)
            }
        }
        return text.bytes
    }

    // MARK: An app receipt

    private func writeAppReceipt(to answer: inout JSONText) {
        answer.object("receipt") { writeReceipt(to: &$0) }
        let subscriptions = subscriptions
        if !subscriptions.isEmpty {
            writeLatest(of: subscriptions, to: &answer)
        }
        answer.field("status", number: 0)
        answer.field("environment", receipt.environment.rawValue)
    }

    private func writeReceipt(to object: inout JSONText) {
        let adamID = receipt.environment == .production ? records.apps[receipt.bundleID]?.adamID ?? 0 : 0
        object.field("receipt_type", receipt.environment.receiptType)
        object.field("adam_id", number: adamID)
        object.field("app_item_id", number: adamID)
        object.field("bundle_id", receipt.bundleID)
        object.field("application_version", receipt.applicationVersion)
        object.field("download_id", number: adamID == 0 ? 0 : receipt.downloadID)
        object.field("version_external_identifier", number: adamID == 0 ? 0 : AppReceiptPayload.versionID)
        object.date("receipt_creation_date", receipt.createdAt)
        object.date("request_date", now)
        object.date("original_purchase_date", AppReceiptPayload.originalPurchaseDate)
        object.field("original_application_version", AppReceiptPayload.originalVersion)
        // In the order of the receipt, which is not chronological.
        object.array("in_app") { rows in
            for transaction in receipt.transactions { rows.object { write(transaction, to: &$0) } }
        }
    }

    /// Writes a row of `in_app` or `latest_receipt_info`.
    private func write(_ transaction: SimulatedTransaction, to row: inout JSONText) {
        row.field("quantity", String(transaction.quantity))
        row.field("product_id", transaction.productID)
        row.field("transaction_id", transaction.id)
        row.field("original_transaction_id", transaction.originalID)
        row.date("purchase_date", transaction.purchasedAt)
        row.date("original_purchase_date", transaction.originalPurchasedAt)
        if let expiresAt = transaction.expiresAt {
            row.date("expires_date", expiresAt)
            row.field("web_order_line_item_id", transaction.webOrderLineItemID)
        }
        row.field("is_trial_period", transaction.isTrial ? "true" : "false")
        if transaction.isAutoRenewable {
            row.field("is_in_intro_offer_period", transaction.isIntroductory ? "true" : "false")
        }
        writeRefund(of: transaction, to: &row)
        row.field("in_app_ownership_type", transaction.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED")
    }

    private func refund(of transaction: SimulatedTransaction) -> Refund? {
        records.refund(of: transaction.id, in: receipt.environment, at: now)
    }

    func writeRefund(of transaction: SimulatedTransaction, to row: inout JSONText) {
        guard let refund = refund(of: transaction) else { return }
        row.date("cancellation_date", refund.at)
        row.field("cancellation_reason", refund.reason)
    }

    // MARK: What belongs to subscriptions

    /// A subscription with a period in the receipt.
    private struct Held {
        let renews: Bool
        /// The periods that have begun, newest first.
        let periods: [SimulatedTransaction]
        /// Whether it could not be charged for yet, but will be.
        let isRetried: Bool
        /// Until when it is kept going meanwhile.
        let graceUntil: Date?
    }

    private var subscriptions: [Held] {
        let held = receipt.transactions.filter(\.isAutoRenewable)
        let originalIDs = Set(held.map(\.originalID)).sorted()
        return originalIDs.map { originalID in
            let known = records.subscription(originalID, in: receipt.environment)
            var periods = held.filter { $0.originalID == originalID }
            let ids = Set(periods.map(\.id))
            let all = known?.periods ?? []
            periods += all.filter { $0.purchasedAt <= now && !ids.contains($0.id) }
            periods.sort { $0.purchasedAt > $1.purchasedAt }
            let expiresAt = periods.first?.expiresAt ?? .distantFuture
            let isRetried = expiresAt <= now && all.contains { $0.purchasedAt > now }
            return Held(
                renews: known?.renews ?? false, periods: periods, isRetried: isRetried,
                graceUntil: isRetried ? known?.billingGrace.map { expiresAt + $0 } : nil)
        }
    }

    private func writeLatest(of subscriptions: [Held], to answer: inout JSONText) {
        answer.array("latest_receipt_info") { rows in
            for subscription in subscriptions {
                for period in excludesOldTransactions ? subscription.periods.prefix(1) : subscription.periods[...] {
                    rows.object { row in
                        write(period, to: &row)
                        if refund(of: period)?.isUpgrade ?? false { row.field("is_upgraded", "true") }
                        row.field("subscription_group_identifier", SimulatedApp.subscriptionGroup(of: receipt.bundleID))
                        if let token = period.appAccountToken { row.field("app_account_token", token) }
                    }
                }
            }
        }
        answer.field("latest_receipt", latestReceipt(of: subscriptions.flatMap(\.periods)))
        answer.array("pending_renewal_info") { rows in
            for subscription in subscriptions {
                guard let last = subscription.periods.first else { continue }
                rows.object { writePendingRenewal(of: last, subscription, to: &$0) }
            }
        }
    }

    /// The receipt as the store would make it now.
    private func latestReceipt(of periods: [SimulatedTransaction]) -> String {
        var latest = receipt
        latest.createdAt = now
        latest.transactions = receipt.transactions.filter { !$0.isAutoRenewable } + periods
        return signer.encode(latest)
    }

    private func writePendingRenewal(
        of period: SimulatedTransaction, _ subscription: Held, to row: inout JSONText
    ) {
        row.field("auto_renew_product_id", period.productID)
        row.field("product_id", period.productID)
        row.field("original_transaction_id", period.originalID)
        row.field("auto_renew_status", subscription.renews ? "1" : "0")
        if let expiresAt = period.expiresAt, expiresAt <= now {
            row.field("expiration_intent", subscription.isRetried ? "2" : "1")
            row.field("is_in_billing_retry_period", subscription.isRetried ? "1" : "0")
        }
        if let graceUntil = subscription.graceUntil, graceUntil > now {
            row.date("grace_period_expires_date", graceUntil)
        }
    }
}
