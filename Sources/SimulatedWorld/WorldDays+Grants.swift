import AppStoreSimulator
import Foundation
import PostgreSQL

extension WorldDays {
    /// Makes the apps' servers say what they have granted, each at its own moment.
    func grant(_ grants: [WorldGrant]) async throws {
        try await connection.execute(
            """
            SELECT
                set_config('iap.present', at::text, true),
                CASE
                    WHEN until IS NULL THEN iap.revoke_entitlement(bundle_id, original_transaction_id)
                    ELSE iap.entitle(bundle_id, original_transaction_id, user_id, until)
                END
            FROM unnest(
                \(grants.map(\.bundleID)), \(grants.map(\.originalID)), \(grants.map(\.word.user)),
                \(grants.map(\.word.until)), \(grants.map(\.at))
            ) AS said (bundle_id, original_transaction_id, user_id, until, at)
            """)
    }
}

extension WorldGrant.Word {
    fileprivate var until: Date? {
        switch self {
        case .granted(let until, _): until
        case .revoked: nil
        }
    }

    fileprivate var user: String? {
        switch self {
        case .granted(_, let user): user
        case .revoked: nil
        }
    }
}
