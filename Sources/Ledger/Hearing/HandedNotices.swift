public import Foundation
import PostgreSQL
public import Reconciliation

/// A notification that an app's server handed on, as it waits for the night; or an entry of Apple's history that could
/// not be used.
public struct HandedNotice: Sendable {
    /// What names it.
    public struct Key: Hashable, Sendable {
        /// The SHA-256 of its payload, in hexadecimal.
        public let hash: String
        public let bundleID: String
    }

    public let key: Key
    /// The app's server, or Apple's history.
    public let heardBy: HeardNotice.Way
    public let payload: String
}

/// A notification in Apple's history that can't be used, and why.
public struct RefusedNotice: Sendable {
    let payload: String
    let problem: String
    let isFinal: Bool

    /// - Parameter isFinal: whether no later night need try it again.
    public init(payload: String, problem: String, isFinal: Bool) {
        // It is JSON text, and PostgreSQL's text holds no NUL.
        self.payload = payload.replacing("\0", with: "")
        self.problem = problem
        self.isFinal = isFinal
    }
}

extension LedgerSession {
    /// The notifications that wait, and those that could not be taken before and perhaps can now.
    ///
    /// - Parameters:
    ///   - bundleIDs: the apps whose notifications are wanted.
    ///   - payloadBytes: bounds what is held in memory; a single one may have more.
    public func handedNotices(
        of bundleIDs: [BundleID], after last: HandedNotice.Key?, limit: Int, payloadBytes: Int = 16 * 1024 * 1024
    ) async throws(LedgerError) -> [HandedNotice] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT encode(payload_sha256, 'hex') AS hash, bundle_id, heard_by, payload
                FROM (
                    SELECT
                        *,
                        sum(octet_length(payload)) OVER in_order AS bytes,
                        row_number() OVER in_order AS number
                    FROM (
                        SELECT payload_sha256, bundle_id, heard_by, payload
                        FROM iap.handed_notices
                        WHERE NOT is_final AND bundle_id = ANY (\(bundleIDs.map(\.text)))
                            AND (payload_sha256, bundle_id)
                                > (decode(\(last?.hash ?? ""), 'hex'), \(last?.bundleID ?? ""))
                        ORDER BY payload_sha256, bundle_id
                        LIMIT \(Int64(limit))
                    ) AS waiting
                    WINDOW in_order AS (ORDER BY payload_sha256, bundle_id)
                ) AS measured
                WHERE bytes <= \(Int64(payloadBytes)) OR number = 1
                ORDER BY payload_sha256, bundle_id
                """)
            return try rows.map { row in
                HandedNotice(
                    key: HandedNotice.Key(hash: try row.decode("hash"), bundleID: try row.decode("bundle_id")),
                    heardBy: try row.word("heard_by"), payload: try row.decode("payload"))
            }
        }
    }

    /// Stores a notification, to be taken by the next run.
    public func submit(notification payload: String, of bundleID: BundleID) async throws(LedgerError) {
        try await translating {
            _ = try await connection.query("SELECT iap.submit_notification(\(bundleID.text), \(payload))")
        }
    }

    /// Keeps what can't be taken, with what is wrong with it, and since when.
    ///
    /// - Parameter handed: `isFinal` if no later night need try it again.
    public func refuse(
        _ handed: [(key: HandedNotice.Key, problem: String, isFinal: Bool)], at now: Date
    ) async throws(LedgerError) {
        guard !handed.isEmpty, !isShadowed else { return }
        try await translating {
            _ = try await connection.execute(
                """
                UPDATE iap.handed_notices AS handed
                SET problem = refused.problem, refused_at = coalesce(handed.refused_at, \(now)),
                    is_final = refused.is_final
                FROM unnest(
                    \(handed.map(\.key.hash)), \(handed.map(\.key.bundleID)), \(handed.map(\.problem)),
                    \(handed.map(\.isFinal))
                ) AS refused (hash, bundle_id, problem, is_final)
                WHERE handed.payload_sha256 = decode(refused.hash, 'hex') AND handed.bundle_id = refused.bundle_id
                    AND (handed.problem, handed.is_final) IS DISTINCT FROM (refused.problem, refused.is_final)
                """)
        }
    }

    /// Keeps what can't be used of Apple's history, in the transaction that moves the mark past it. A dry run doesn't.
    func keep(_ refused: [RefusedNotice], of bundleID: BundleID, at now: Date) async throws {
        guard !refused.isEmpty, !isShadowed else { return }
        try await connection.execute(
            """
            INSERT INTO iap.handed_notices (
                payload_sha256, bundle_id, heard_by, payload, submitted_at, problem, refused_at, is_final)
            SELECT
                sha256(convert_to(payload, 'UTF8')), \(bundleID.text), 'history', payload, \(now), problem, \(now),
                is_final
            FROM unnest(\(refused.map(\.payload)), \(refused.map(\.problem)), \(refused.map(\.isFinal)))
                AS refused (payload, problem, is_final)
            ON CONFLICT (payload_sha256, bundle_id) DO NOTHING
            """)
    }

    /// Takes away what was taken, in the transaction that took it. A dry run leaves it.
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
