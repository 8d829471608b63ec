import Foundation

/// One row of an answer as it was sent, before rows of one transaction are united: any field may be missing.
struct TransactionRow: Decodable {
    enum Key: String, CodingKey {
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case productID = "product_id"
        case quantity
        case purchaseDate = "purchase_date"
        case purchaseDateMS = "purchase_date_ms"
        case originalPurchaseDate = "original_purchase_date"
        case originalPurchaseDateMS = "original_purchase_date_ms"
        case expiresDate = "expires_date"
        case expiresDateMS = "expires_date_ms"
        case expiresDateFormatted = "expires_date_formatted"
        case cancellationDate = "cancellation_date"
        case cancellationDateMS = "cancellation_date_ms"
        case cancellationReason = "cancellation_reason"
        case ownershipType = "in_app_ownership_type"
        case isTrialPeriod = "is_trial_period"
        case isInIntroOfferPeriod = "is_in_intro_offer_period"
        case isUpgraded = "is_upgraded"
        case webOrderLineItemID = "web_order_line_item_id"
        case appAccountToken = "app_account_token"
        case promotionalOfferID = "promotional_offer_id"
        case offerCodeRefName = "offer_code_ref_name"
        case subscriptionGroupID = "subscription_group_identifier"
    }

    var transactionID: String?
    var originalTransactionID: String?
    var productID: String?
    var quantity: Reading<Int>
    var cancellationDate: Reading<Date>
    var purchaseDate: Date?
    var originalPurchaseDate: Date?
    var expiresDate: Date?
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

    /// Never throws: what is not an object is a row without a single field, which `transaction(_:)` refuses.
    init(from decoder: any Decoder) {
        let row = try? decoder.container(keyedBy: Key.self)
        transactionID = row?.text(.transactionID)
        originalTransactionID = row?.text(.originalTransactionID)
        productID = row?.text(.productID)
        quantity = Reading(row?.integer(.quantity).flatMap(Int.init(exactly:)), says: row?.says(.quantity))
        cancellationDate = Reading(
            row?.date(.cancellationDateMS, .cancellationDate),
            says: row.map { $0.says(.cancellationDateMS) || $0.says(.cancellationDate) })
        purchaseDate = row?.date(.purchaseDateMS, .purchaseDate)
        originalPurchaseDate = row?.date(.originalPurchaseDateMS, .originalPurchaseDate)
        expiresDate = row?.date(.expiresDateMS, .expiresDate, .expiresDateFormatted)
        cancellationReason = row?.text(.cancellationReason)
        ownershipType = row?.text(.ownershipType)
        isTrialPeriod = row?.flag(.isTrialPeriod)
        isInIntroOfferPeriod = row?.flag(.isInIntroOfferPeriod)
        isUpgraded = row?.flag(.isUpgraded)
        webOrderLineItemID = row?.text(.webOrderLineItemID)
        appAccountToken = row?.text(.appAccountToken)
        promotionalOfferID = row?.text(.promotionalOfferID)
        offerCodeRefName = row?.text(.offerCodeRefName)
        subscriptionGroupID = row?.text(.subscriptionGroupID)
    }
}

/// A field on which it depends whether a purchase is owed: what is there and can't be read must not pass for absent.
enum Reading<Value: Sendable>: Sendable {
    case value(Value)
    case absent
    case unreadable

    /// - Parameter says: whether the field is there, looked at only where no value was read.
    init(_ value: Value?, says: @autoclosure () -> Bool?) {
        self = value.map(Reading.value) ?? (says() == true ? .unreadable : .absent)
    }

    var value: Value? {
        if case .value(let value) = self { value } else { nil }
    }

    /// This reading, or the other where this one has no value; unreadable if one is and neither has a value.
    func filled(from other: Reading) -> Reading {
        switch (self, other) {
        case (.value, _), (.unreadable, .absent), (.unreadable, .unreadable): self
        case (.absent, _), (.unreadable, .value): other
        }
    }
}
