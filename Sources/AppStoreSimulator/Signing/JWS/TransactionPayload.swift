import Foundation

/// A transaction in the form of a signed payload (`JWSTransactionDecodedPayload`).
struct TransactionPayload {
    let transaction: SimulatedTransaction
    let bundleID: String
    let environment: StoreEnvironment
    let account: String
    let refund: Refund?
    let signedAt: Date

    func write(to object: inout JSONText) {
        object.field("transactionId", transaction.id)
        object.field("originalTransactionId", transaction.originalID)
        object.field("bundleId", bundleID)
        object.field("productId", transaction.productID)
        if let expiresAt = transaction.expiresAt { writePeriod(until: expiresAt, to: &object) }
        object.field("purchaseDate", number: transaction.purchasedAt.unixMilliseconds)
        object.field("originalPurchaseDate", number: transaction.originalPurchasedAt.unixMilliseconds)
        object.field("quantity", number: Int64(transaction.quantity))
        object.field("type", transaction.productType.payloadName)
        if let token = transaction.appAccountToken { object.field("appAccountToken", token) }
        object.field("inAppOwnershipType", transaction.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED")
        object.field("signedDate", number: signedAt.unixMilliseconds)
        if let refund { write(refund, to: &object) }
        object.field("environment", environment.rawValue)
        object.field("transactionReason", transaction.isRenewal ? "RENEWAL" : "PURCHASE")
        let storefront = Storefront(currency: transaction.price?.currency)
        object.field("storefront", storefront.country)
        object.field("storefrontId", storefront.id)
        if transaction.isTrial || transaction.isIntroductory {
            object.field("offerType", number: 1)
            object.field("offerDiscountType", transaction.isTrial ? "FREE_TRIAL" : "PAY_AS_YOU_GO")
        }
        if let price = transaction.price {
            // The price of all units: https://developer.apple.com/documentation/storekit/transaction/price
            object.field("price", number: transaction.isTrial ? 0 : price.milliunits * Int64(transaction.quantity))
            object.field("currency", price.currency)
        }
        object.field("appTransactionId", SimulatedApp.appTransactionID(of: account, in: bundleID))
    }

    private func writePeriod(until expiresAt: Date, to object: inout JSONText) {
        object.field("webOrderLineItemId", transaction.webOrderLineItemID)
        object.field("subscriptionGroupIdentifier", SimulatedApp.subscriptionGroup(of: bundleID))
        object.field("expiresDate", number: expiresAt.unixMilliseconds)
    }

    private func write(_ refund: Refund, to object: inout JSONText) {
        object.field("revocationDate", number: refund.at.unixMilliseconds)
        object.field("revocationReason", number: Int64(refund.reason) ?? 0)
        if refund.isUpgrade { object.field("isUpgraded", bool: true) }
        object.field("revocationType", refund.kind.payloadName)
        if let percentage = refund.kind.percentage { object.field("revocationPercentage", number: percentage) }
    }
}

extension Refund.Kind {
    fileprivate var payloadName: String {
        switch self {
        case .full: "REFUND_FULL"
        case .prorated: "REFUND_PRORATED"
        case .familyRevoke: "FAMILY_REVOKE"
        }
    }

    /// In thousandths of a percent.
    fileprivate var percentage: Int64? {
        switch self {
        case .full: 100_000
        case .prorated(let share): share
        case .familyRevoke: nil
        }
    }
}

extension SimulatedTransaction {
    /// Whether the store made it automatically at the end of a subscription's period.
    var isRenewal: Bool { isAutoRenewable && id != originalID }
}

extension SimulatedTransaction.ProductType {
    fileprivate var payloadName: String {
        switch self {
        case .nonConsumable: "Non-Consumable"
        case .consumable: "Consumable"
        case .nonRenewing: "Non-Renewing Subscription"
        case .autoRenewable: "Auto-Renewable Subscription"
        }
    }
}
