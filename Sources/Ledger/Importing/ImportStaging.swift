import Foundation
import PostgreSQL
import Reconciliation

/// The session's own table in which a batch lies until it is merged, named `incoming` for every kind of line. It is
/// empty again when the transaction ends.
struct ImportStaging {
    private let columns: [(name: String, type: String)]
    /// What else is made.
    private let more: String

    init(_ kind: ImportKind) {
        columns = [("line", "bigint NOT NULL")] + Self.columns(of: kind)
        more = kind == .receipts ? ReceiptsImport.keysDefinition : ""
    }

    var target: CopyTarget { CopyTarget(table: "incoming", columns: columns.map(\.name)) }

    var definition: String {
        let columns = columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
        // The session may have staged lines of another kind in a table of the same name.
        return
            "DROP TABLE IF EXISTS pg_temp.incoming, pg_temp.incoming_keys;\nCREATE TEMPORARY TABLE incoming (\(columns)) ON COMMIT DELETE ROWS;\n\(more)"
    }

    private static let id = #"text COLLATE "C" NOT NULL"#

    private static func columns(of kind: ImportKind) -> [(name: String, type: String)] {
        switch kind {
        case .receipts:
            [
                ("bundle_id", id), ("user_id", "text"), ("payload", "text NOT NULL"), ("transaction_id", "text"),
                ("order_id", "text"), ("device", "jsonb"), ("submitted_at", "timestamptz"),
            ]
        case .orders:
            [
                ("bundle_id", id), ("order_id", "text NOT NULL"), ("user_id", "text NOT NULL"), ("product_id", id),
                ("quantity", "integer NOT NULL"), ("app_account_token", "text"), ("created_at", "timestamptz"),
            ]
        case .delivered:
            [
                ("transaction_id", id), ("bundle_id", id), ("environment", "text NOT NULL"),
                ("original_transaction_id", id), ("product_id", id), ("quantity", "integer NOT NULL"),
                ("purchased_at", "timestamptz NOT NULL"), ("user_id", "text"), ("order_id", "text"),
                ("delivered_at", "timestamptz NOT NULL"),
            ]
        case .entitlements:
            [
                ("original_transaction_id", id), ("bundle_id", id), ("user_id", "text NOT NULL"),
                ("entitled_until", "timestamptz"), ("revoked_at", "timestamptz"),
            ]
        case .products:
            [
                ("bundle_id", id), ("product_id", id), ("type", "text NOT NULL"), ("name", "text NOT NULL"),
                ("list_price_milliunits", "bigint"), ("currency", "text"),
            ]
        }
    }
}

extension ImportLine {
    /// In the order of the staging table's columns.
    func append(to copied: inout CopyRow) {
        copied.append(number)
        switch row {
        case .receipt(let receipt): receipt.append(to: &copied)
        case .order(let order): order.append(to: &copied)
        case .delivery(let delivery): delivery.append(to: &copied)
        case .entitlement(let entitlement): entitlement.append(to: &copied)
        case .product(let product): product.append(to: &copied)
        }
    }
}

extension ImportedReceipt {
    fileprivate func append(to copied: inout CopyRow) {
        copied.append(bundleID.text)
        copied.append(userID)
        copied.append(payload)
        copied.append(transactionID)
        copied.append(orderID)
        copied.append(jsonb: device)
        copied.append(submittedAt)
    }
}

extension ImportedOrder {
    fileprivate func append(to copied: inout CopyRow) {
        copied.append(bundleID.text)
        copied.append(orderID)
        copied.append(userID)
        copied.append(productID.text)
        copied.append(quantity)
        copied.append(appAccountToken)
        copied.append(createdAt)
    }
}

extension ImportedDelivery {
    fileprivate func append(to copied: inout CopyRow) {
        copied.append(key.id.text)
        copied.append(key.bundleID.text)
        copied.append(key.environment.rawValue)
        copied.append(originalID.text)
        copied.append(productID.text)
        copied.append(quantity)
        copied.append(purchasedAt)
        copied.append(userID)
        copied.append(orderID)
        copied.append(deliveredAt)
    }
}

extension ImportedEntitlement {
    fileprivate func append(to copied: inout CopyRow) {
        copied.append(originalID.text)
        copied.append(bundleID.text)
        copied.append(userID)
        copied.append(until)
        copied.append(revokedAt)
    }
}

extension ImportedProduct {
    fileprivate func append(to copied: inout CopyRow) {
        copied.append(bundleID.text)
        copied.append(product.id.text)
        copied.append(product.type.rawValue)
        copied.append(product.name)
        copied.append(product.listPrice?.milliunits)
        copied.append(product.listPrice?.currency.text)
    }
}
