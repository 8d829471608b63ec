import PostgreSQL

/// Takes staged products. The list is the company's own, so what it says now replaces what it said; of two lines for
/// one product the later counts.
struct ProductsImport {
    let connection: Connection

    /// Gives how many products are new or changed.
    func merge() async throws -> Int {
        try await connection.execute(
            """
            INSERT INTO products AS known (bundle_id, product_id, type, name, list_price_milliunits, currency)
            SELECT DISTINCT ON (bundle_id, product_id)
                bundle_id, product_id, type, name, list_price_milliunits, currency
            FROM incoming
            ORDER BY bundle_id, product_id, line DESC
            ON CONFLICT (bundle_id, product_id) DO UPDATE
            SET type = EXCLUDED.type, name = EXCLUDED.name,
                list_price_milliunits = EXCLUDED.list_price_milliunits, currency = EXCLUDED.currency
            WHERE (known.type, known.name, known.list_price_milliunits, known.currency)
                IS DISTINCT FROM
                (EXCLUDED.type, EXCLUDED.name, EXCLUDED.list_price_milliunits, EXCLUDED.currency)
            """)
    }
}
