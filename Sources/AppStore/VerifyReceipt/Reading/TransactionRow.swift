import Foundation

/// One row of an answer as it was sent, before the rows of a transaction are united. Any field may be missing.
struct TransactionRow {
    var transactionID: String?
    var originalTransactionID: String?
    var productID: String?
    var quantity: Reading<Int>
    var cancellationDate: Reading<Date>
    var purchaseDate: Date?
    var originalPurchaseDate: Date?
    var expiresDate: Reading<Date>
    var cancellationReason: String?
    var ownershipType: String?
    var isTrialPeriod: Bool?
    var isInIntroOfferPeriod: Bool?
    var isUpgraded: Bool?
    var webOrderLineItemID: String?
    var appAccountToken: String?
    var promotionalOfferID: String?
    var offerCodeRefName: String?
    var subscriptionGroupID: String?
    /// Whether what it says of a refund is so now, and not only since the receipt was made.
    var isToldNow = false

    /// - Parameter row: `nil` if it is not an object: then the row has no fields, and `transaction` refuses it.
    init(_ row: JSONObject?) {
        transactionID = row?.text("transaction_id")
        originalTransactionID = row?.text("original_transaction_id")
        productID = row?.text("product_id")
        quantity = Reading(row?.integer("quantity").flatMap(Int.init(exactly:)), says: row?.says("quantity"))
        cancellationDate = Reading(
            row?.date("cancellation_date_ms", "cancellation_date"),
            says: row.map { $0.says("cancellation_date_ms") || $0.says("cancellation_date") })
        purchaseDate = row?.date("purchase_date_ms", "purchase_date")
        originalPurchaseDate = row?.date("original_purchase_date_ms", "original_purchase_date")
        expiresDate = Reading(
            row?.date("expires_date_ms", "expires_date", "expires_date_formatted"),
            says: row.map { $0.says("expires_date_ms") || $0.says("expires_date") })
        cancellationReason = row?.text("cancellation_reason")
        ownershipType = row?.text("in_app_ownership_type")
        isTrialPeriod = row?.flag("is_trial_period")
        isInIntroOfferPeriod = row?.flag("is_in_intro_offer_period")
        isUpgraded = row?.flag("is_upgraded")
        webOrderLineItemID = row?.text("web_order_line_item_id")
        appAccountToken = row?.text("app_account_token")
        promotionalOfferID = row?.text("promotional_offer_id")
        offerCodeRefName = row?.text("offer_code_ref_name")
        subscriptionGroupID = row?.text("subscription_group_identifier")
    }
}

/// A field that decides whether a purchase is owed, and as what. If it is there but unreadable, it must not pass for
/// absent.
enum Reading<Value: Sendable>: Sendable {
    case value(Value)
    case absent
    case unreadable

    /// - Parameter says: whether the field is there; evaluated only if no value was read.
    init(_ value: Value?, says: @autoclosure () -> Bool?) {
        self = value.map(Reading.value) ?? (says() == true ? .unreadable : .absent)
    }

    var value: Value? {
        if case .value(let value) = self { value } else { nil }
    }

    /// This reading, or the other if this one has no value; unreadable if one is and neither has a value.
    func filled(from other: Reading) -> Reading {
        switch (self, other) {
        case (.value, _), (.unreadable, .absent), (.unreadable, .unreadable): self
        case (.absent, _), (.unreadable, .value): other
        }
    }
}
