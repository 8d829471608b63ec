import PostgreSQL
public import Reconciliation

/// What the apps sell, by the table `products`.
public struct Catalogue: Sendable {
    private var types: [BundleID: [ProductID: ProductType]]

    public init(_ types: [BundleID: [ProductID: ProductType]]) {
        self.types = types
    }

    /// The type of an app's product; `nil` if the table does not have it.
    public func type(of product: ProductID, in app: BundleID) -> ProductType? {
        types[app]?[product]
    }
}

extension LedgerSession {
    /// Reads the table `products`.
    public func catalogue() async throws(LedgerError) -> Catalogue {
        try await translating {
            let rows = try await connection.query("SELECT bundle_id, product_id, type FROM products")
            var types: [BundleID: [ProductID: ProductType]] = [:]
            for row in rows {
                types[try row.id("bundle_id"), default: [:]][try row.id("product_id")] = try row.word(
                    "type", of: ProductType.self)
            }
            return Catalogue(types)
        }
    }
}
