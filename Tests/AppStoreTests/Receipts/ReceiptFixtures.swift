import Foundation
import TestSupport

@testable import AppStore

/// Receipts that Apple, Xcode, or a forger signed; they are not part of this package.
enum ReceiptFixtures {
    /// What an independent program decoded from each receipt.
    struct Facts: Decodable {
        let receipt_type: String
        let bundle_id: String
        let application_version: String
        let original_application_version: String?
        let receipt_creation_date: String
        let original_purchase_date: String?
        let expiration_date: String?
        let adam_id: Int64
        let download_id: Int64?
        let version_external_identifier: Int64?
        let in_app: [Entry]

        struct Entry: Decodable, Equatable {
            var quantity: Int64?
            var product_id: String?
            var transaction_id: String?
            var original_transaction_id: String?
            var purchase_date: String?
            var original_purchase_date: String?
            var expires_date: String?
            var cancellation_date: String?
            var product_type: Int64?
            var attr1710: Int64?
            var web_order_line_item_id: Int64?
            var is_trial_period: Int64?
            var is_in_intro_offer_period: Int64?
        }
    }

    static func facts() throws -> [String: Facts] {
        try JSONDecoder().decode([String: Facts].self, from: try Fixtures.data("app-receipts/facts.json"))
    }

    /// An app receipt in binary form, whatever form its file has.
    static func appReceipt(_ name: String) throws -> [UInt8] {
        guard case .appReceipt(let bytes) = try ReceiptText(try Fixtures.data("app-receipts/\(name)")) else {
            throw ReceiptError.unknownForm
        }
        return bytes
    }

    static func transactionReceipt(_ path: String = "ios6-receipts/ios6-sandbox.b64") throws -> [UInt8] {
        guard case .transactionReceipt(let bytes) = try ReceiptText(try Fixtures.data(path)) else {
            throw ReceiptError.unknownForm
        }
        return bytes
    }

    static func roots(_ path: String) throws -> TrustRoots {
        try TrustRoots.apple.adding(contentsOf: try Fixtures.data(path))
    }
}

extension ReceiptFixtures.Facts.Entry {
    init(_ purchase: InAppPurchase) {
        quantity = purchase.quantity
        product_id = purchase.productID
        transaction_id = purchase.transactionID
        original_transaction_id = purchase.originalTransactionID
        purchase_date = purchase.purchaseDate?.formatted(.iso8601)
        original_purchase_date = purchase.originalPurchaseDate?.formatted(.iso8601)
        expires_date = purchase.expiresDate?.formatted(.iso8601)
        cancellation_date = purchase.cancellationDate?.formatted(.iso8601)
        product_type = purchase.productType
        attr1710 = purchase.itemID
        web_order_line_item_id = purchase.webOrderLineItemID
        is_trial_period = purchase.isTrialPeriod.map { $0 ? 1 : 0 }
        is_in_intro_offer_period = purchase.isInIntroOfferPeriod.map { $0 ? 1 : 0 }
    }

    /// With dates in UTC, and without those that are empty.
    var normalised: Self {
        var entry = self
        for date in [\Self.purchase_date, \.original_purchase_date, \.expires_date, \.cancellation_date] {
            entry[keyPath: date] = entry[keyPath: date].flatMap { AppleDate.withOffset($0)?.formatted(.iso8601) }
        }
        return entry
    }
}
