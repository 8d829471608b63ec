import PostgreSQL

/// Takes staged entitlements, by the rules of `iap.entitle` and `iap.revoke_entitlement`. Of several lines for one
/// original purchase the one that reaches furthest counts: a company may keep a row a period.
struct EntitlementsImport {
    let connection: Connection

    /// Gives how many grants are new or changed.
    func merge() async throws -> Int {
        try await connection.only(
            """
            SELECT import_entitlements(
                array_agg(
                    ROW(
                        original_transaction_id, bundle_id, user_id, ends, present(), present(), revoked_at,
                        audit.seal(ROW(
                            original_transaction_id, bundle_id, user_id, ends, present(), present(), revoked_at,
                            NULL)::iap.entitlements))::iap.entitlements)) AS taken
            FROM (
                SELECT DISTINCT ON (original_transaction_id, bundle_id) *
                FROM incoming
                CROSS JOIN LATERAL (
                    SELECT least(coalesce(entitled_until, 'infinity'), coalesce(revoked_at, 'infinity')) AS ends
                ) AS granted
                ORDER BY original_transaction_id, bundle_id, ends DESC, line DESC
            ) AS latest
            """
        ).decode("taken", as: Int.self)
    }
}
