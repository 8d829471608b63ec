import PostgreSQL

/// Takes staged entitlements, by the rules of `iap.entitle` and `iap.revoke_entitlement`. Of several lines for one
/// original purchase, the one that reaches furthest counts: a company may keep a row for each period.
struct EntitlementsImport {
    let connection: Connection

    /// Gives how many grants are new or changed.
    func merge() async throws -> Int {
        try await connection.only(
            """
            SELECT import_entitlements(
                array_agg(
                    ROW(
                        original_transaction_id, bundle_id, user_id, coalesce(entitled_until, 'infinity'), present(),
                        present(), revoked_at, '{}', NULL)::iap.entitlements
                    ORDER BY line)) AS taken
            FROM incoming
            """
        ).decode("taken", as: Int.self)
    }
}
