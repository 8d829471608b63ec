package import Foundation
package import Ledger
package import Reconciliation

extension ImportedRow {
    /// Reads a line of this kind.
    package init(_ fields: LineFields, kind: ImportKind) throws(LineProblem) {
        self =
            switch kind {
            case .receipts: .receipt(try ImportedReceipt(fields))
            case .orders: .order(try ImportedOrder(fields))
            case .delivered: .delivery(try ImportedDelivery(fields))
            case .entitlements: .entitlement(try ImportedEntitlement(fields))
            case .products: .product(try ImportedProduct(fields))
            }
    }

    /// What it tells of, but for the end of a grant, which may be at any time.
    private var moments: [(field: ImportField, at: Date?)] {
        switch self {
        case .receipt(let receipt): [(.submittedAt, receipt.submittedAt)]
        case .order(let order): [(.createdAt, order.createdAt)]
        case .delivery(let delivery): [(.purchasedAt, delivery.purchasedAt), (.deliveredAt, delivery.deliveredAt)]
        case .entitlement, .product: []
        }
    }

    /// The clocks of a company's servers differ.
    private static let tolerance: TimeInterval = 86_400

    /// The problem of a line that lies ahead: what it tells of happens more than a day from now. A subscription is
    /// renewed, and granted, up to a day before the period that is bought begins: of a purchase it is a day more, as in
    /// `iap.require_moment`.
    package func liesAhead(of present: Date) -> LineProblem? {
        for (field, at) in moments {
            let most = field == .purchasedAt ? 2 * Self.tolerance : Self.tolerance
            if let at, at > present + most { return LineProblem(.badValue, "\(field.column) lies in the future") }
        }
        return nil
    }

    package var bundleID: BundleID {
        switch self {
        case .receipt(let receipt): receipt.bundleID
        case .order(let order): order.bundleID
        case .delivery(let delivery): delivery.key.bundleID
        case .entitlement(let entitlement): entitlement.bundleID
        case .product(let product): product.bundleID
        }
    }
}

extension ImportedReceipt {
    fileprivate init(_ fields: LineFields) throws(LineProblem) {
        self.init(
            bundleID: try fields.id(.bundleID), userID: try fields.text(.userID), payload: fields.payload(),
            transactionID: try fields.unrounded(.transactionID), orderID: try fields.text(.orderID),
            device: try fields.device(), submittedAt: try fields.time(.submittedAt))
    }
}

extension ImportedOrder {
    fileprivate init(_ fields: LineFields) throws(LineProblem) {
        self.init(
            bundleID: try fields.id(.bundleID), orderID: try fields.requiredText(.orderID),
            userID: try fields.requiredText(.userID), productID: try fields.id(.productID),
            quantity: try fields.quantity(), appAccountToken: try fields.token(.appAccountToken),
            createdAt: try fields.time(.createdAt))
    }
}

extension ImportedDelivery {
    fileprivate init(_ fields: LineFields) throws(LineProblem) {
        let id = try fields.transactionID(.transactionID)
        self.init(
            key: TransactionKey(
                id: id, bundleID: try fields.id(.bundleID),
                environment: try fields.choice(.environment, or: .production)),
            originalID: fields[.originalTransactionID] == nil ? id : try fields.transactionID(.originalTransactionID),
            productID: try fields.id(.productID), quantity: try fields.quantity(),
            purchasedAt: try fields.requiredTime(.purchasedAt), userID: try fields.text(.userID),
            orderID: try fields.text(.orderID), deliveredAt: try fields.requiredTime(.deliveredAt))
    }
}

extension ImportedEntitlement {
    fileprivate init(_ fields: LineFields) throws(LineProblem) {
        let isForEver = try fields.required(.entitledUntil) == "infinity"
        self.init(
            originalID: try fields.transactionID(.originalTransactionID), bundleID: try fields.id(.bundleID),
            userID: try fields.requiredText(.userID), until: isForEver ? nil : try fields.time(.entitledUntil),
            revokedAt: try fields.time(.revokedAt))
    }
}

extension ImportedProduct {
    fileprivate init(_ fields: LineFields) throws(LineProblem) {
        self.init(
            bundleID: try fields.id(.bundleID),
            product: Product(
                id: try fields.id(.productID), type: try fields.choice(.type),
                name: try fields.requiredText(.name), listPrice: try fields.price()))
    }
}
