import PostgreSQL
public import Reconciliation

/// A notification that an app's server handed on, as it waits for the night.
public struct HandedNotice: Sendable {
    /// What names it.
    public struct Key: Hashable, Sendable {
        /// Of its payload: SHA-256, in hexadecimal.
        public let hash: String
        public let bundleID: String
    }

    public let key: Key
    public let payload: String
}

extension LedgerSession {
    /// The notifications that wait, and those that could not be taken before and perhaps can now.
    ///
    /// - Parameter bundleIDs: of these apps.
    public func handedNotices(
        of bundleIDs: [BundleID], after last: HandedNotice.Key?, limit: Int
    ) async throws(LedgerError) -> [HandedNotice] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT encode(payload_sha256, 'hex') AS hash, bundle_id, payload
                FROM iap.handed_notices
                WHERE NOT is_final AND bundle_id = ANY (\(bundleIDs.map(\.text)))
                    AND (payload_sha256, bundle_id) > (decode(\(last?.hash ?? ""), 'hex'), \(last?.bundleID ?? ""))
                ORDER BY payload_sha256, bundle_id
                LIMIT \(Int64(limit))
                """)
            return try rows.map { row in
                HandedNotice(
                    key: HandedNotice.Key(
                        hash: try row.decode("hash"), bundleID: try row.decode("bundle_id")),
                    payload: try row.decode("payload"))
            }
        }
    }

    /// Stores a notification, to be taken by the next run.
    public func submit(notification payload: String, of bundleID: BundleID) async throws(LedgerError) {
        try await translating {
            _ = try await connection.query("SELECT iap.submit_notification(\(bundleID.text), \(payload))")
        }
    }

    /// Keeps what can't be taken, with what is wrong with it.
    ///
    /// - Parameter handed: `isFinal` where no later night need try it again.
    public func refuse(
        _ handed: [(key: HandedNotice.Key, problem: String, isFinal: Bool)]
    ) async throws(LedgerError) {
        guard !handed.isEmpty, !isShadowed else { return }
        try await translating {
            _ = try await connection.execute(
                """
                UPDATE iap.handed_notices AS handed
                SET problem = refused.problem, is_final = refused.is_final
                FROM unnest(
                    \(handed.map(\.key.hash)), \(handed.map(\.key.bundleID)), \(handed.map(\.problem)),
                    \(handed.map(\.isFinal))
                ) AS refused (hash, bundle_id, problem, is_final)
                WHERE handed.payload_sha256 = decode(refused.hash, 'hex') AND handed.bundle_id = refused.bundle_id
                    AND (handed.problem, handed.is_final) IS DISTINCT FROM (refused.problem, refused.is_final)
                """)
        }
    }

    /// Takes away what was taken, within the transaction that took it. A dry run leaves it.
    func end(_ handed: some Collection<HandedNotice.Key>) async throws {
        guard !handed.isEmpty, !isShadowed else { return }
        try await connection.execute(
            """
            DELETE FROM iap.handed_notices AS handed
            USING unnest(\(handed.map(\.hash)), \(handed.map(\.bundleID))) AS taken (hash, bundle_id)
            WHERE handed.payload_sha256 = decode(taken.hash, 'hex') AND handed.bundle_id = taken.bundle_id
            """)
    }
}
