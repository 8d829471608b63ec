package import Reconciliation

/// The fields that a line may have. They are the names of a CSV header's columns and a JSON object's keys.
package enum ImportField: Int, CaseIterable {
    case bundleID, userID, payload, transactionID, orderID, device, submittedAt
    case productID, quantity, appAccountToken, createdAt
    case environment, originalTransactionID, purchasedAt, deliveredAt
    case entitledUntil, revokedAt
    case type, name, listPriceMilliunits, currency

    package var column: String {
        switch self {
        case .bundleID: "bundle_id"
        case .userID: "user_id"
        case .payload: "payload"
        case .transactionID: "transaction_id"
        case .orderID: "order_id"
        case .device: "device"
        case .submittedAt: "submitted_at"
        case .productID: "product_id"
        case .quantity: "quantity"
        case .appAccountToken: "app_account_token"
        case .createdAt: "created_at"
        case .environment: "environment"
        case .originalTransactionID: "original_transaction_id"
        case .purchasedAt: "purchased_at"
        case .deliveredAt: "delivered_at"
        case .entitledUntil: "entitled_until"
        case .revokedAt: "revoked_at"
        case .type: "type"
        case .name: "name"
        case .listPriceMilliunits: "list_price_milliunits"
        case .currency: "currency"
        }
    }

    /// Whether it is a moment; only then may it be a number with a fraction.
    package var isTime: Bool {
        switch self {
        case .submittedAt, .createdAt, .purchasedAt, .deliveredAt, .entitledUntil, .revokedAt: true
        default: false
        }
    }

    package var isTransactionID: Bool { self == .transactionID || self == .originalTransactionID }

    /// Whether it is an id that the company gave.
    var isOwnID: Bool { self == .userID || self == .orderID }

    /// Whether it is an id of Apple's, none of which begins with what keeps it a text in a spreadsheet. An app's own may.
    var isOfApples: Bool { isTransactionID || self == .productID || self == .bundleID }
}

extension ImportKind {
    /// The fields that a line of this kind must have, and those that it may have.
    package var fields: (required: [ImportField], optional: [ImportField]) {
        switch self {
        case .receipts:
            ([.bundleID, .payload], [.userID, .transactionID, .orderID, .device, .submittedAt])
        case .orders:
            ([.bundleID, .orderID, .userID, .productID], [.quantity, .appAccountToken, .createdAt])
        case .delivered:
            (
                [.bundleID, .transactionID, .productID, .purchasedAt, .deliveredAt],
                [.environment, .originalTransactionID, .quantity, .userID, .orderID]
            )
        case .entitlements:
            ([.bundleID, .originalTransactionID, .userID, .entitledUntil], [.revokedAt])
        case .products:
            ([.bundleID, .productID, .type, .name], [.listPriceMilliunits, .currency])
        }
    }

    /// The fields by their names.
    package var fieldsByColumn: [String: ImportField] {
        Dictionary(uniqueKeysWithValues: (fields.required + fields.optional).map { ($0.column, $0) })
    }

    /// The fields of the columns with these names.
    package func fields(inColumns names: [String]) throws(ImportError) -> [ImportField] {
        let known = fieldsByColumn
        var columns: [ImportField] = []
        for name in names {
            guard let field = known[name] else {
                throw .unknownColumn(name, kind: self, known: known.keys.sorted())
            }
            guard !columns.contains(field) else { throw .repeatedColumn(name) }
            columns.append(field)
        }
        let missing = fields.required.filter { !columns.contains($0) }
        guard missing.isEmpty else { throw .missingColumns(missing.map(\.column), kind: self) }
        return columns
    }

    /// The fields by which the company may know a line, the best first.
    package var identifying: [ImportField] {
        switch self {
        case .receipts: [.transactionID, .orderID]
        case .orders: [.orderID]
        case .delivered: [.transactionID]
        case .entitlements: [.originalTransactionID]
        case .products: [.productID]
        }
    }
}
