import PostgreSQL

/// Takes staged products. The list is the company's own, so what it says now replaces what it said; of two lines for
/// one product the later counts. A line without a price says nothing of it: its file may lack the columns, and what is
/// bought next would count for nothing.
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
                list_price_milliunits = coalesce(EXCLUDED.list_price_milliunits, known.list_price_milliunits),
                currency = coalesce(EXCLUDED.currency, known.currency)
            WHERE (known.type, known.name) IS DISTINCT FROM (EXCLUDED.type, EXCLUDED.name)
                OR (known.list_price_milliunits, known.currency)
                    IS DISTINCT FROM (EXCLUDED.list_price_milliunits, EXCLUDED.currency)
                    AND EXCLUDED.currency IS NOT NULL
            """)
    }
}
