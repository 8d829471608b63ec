public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// The buckets with receipts of which a purge may take something away.
    public func purgeableBuckets(_ retention: Retention, now: Date) async throws(LedgerError) -> [Int] {
        try await translating {
            let before = retention.moments(before: now)
            let row = try await onlyWithinTime(
                "SELECT purgeable_buckets(\(before.payloads), \(before.devices)) AS buckets")
            return try row.decode("buckets", as: [Int16].self).map(Int.init)
        }
    }

    /// Takes away what is older than it need be kept from receipts of one bucket on which nothing is open: at most so
    /// many payloads and so many devices. Each of the two is a transaction of its own.
    public func purge(
        _ retention: Retention, bucket: Int, most: Int, now: Date
    ) async throws(LedgerError) -> Purged {
        try await translating {
            let slice = Int16(bucket)
            let before = retention.moments(before: now)
            // Payloads are purged even if they are kept for ever: those of erased users are not kept.
            let payloads = try await onlyWithinTime(
                "SELECT purge_payloads(\(slice), \(before.payloads), \(Int32(most))) AS purged")
            let devices = try await onlyWithinTime(
                "SELECT purge_devices(\(slice), \(before.devices), \(Int32(most))) AS purged")
            return Purged(payloads: try payloads.decode("purged"), devices: try devices.decode("purged"))
        }
    }

    /// Takes away orders that were opened in a span of time and never paid, so many at most, and gives how many.
    public func purgeOrders(from first: Date, until end: Date, most: Int) async throws(LedgerError) -> Int {
        try await translating {
            try await onlyWithinTime("SELECT purge_orders(\(first), \(end), \(Int32(most))) AS purged").decode("purged")
        }
    }

    /// Takes away notifications that were refused first too long ago, the oldest first and so many at most, and gives how
    /// many.
    public func purgeRefusedNotices(most: Int, now: Date) async throws(LedgerError) -> Int {
        try await translating {
            try await connection.only(
                """
                WITH oldest AS (
                    SELECT payload_sha256, bundle_id
                    FROM iap.handed_notices
                    WHERE \(Self.isRefusedLongAgo(now))
                    ORDER BY refused_at
                    LIMIT \(Int64(most))
                ), purged AS (
                    DELETE FROM iap.handed_notices
                    USING oldest
                    WHERE handed_notices.payload_sha256 = oldest.payload_sha256
                        AND handed_notices.bundle_id = oldest.bundle_id
                    RETURNING handed_notices.bundle_id
                )
                SELECT count(*) AS purged FROM purged
                """
            ).decode("purged")
        }
    }

    /// Whether a notification was refused first too long ago. When it came does not matter: it may have waited for as long
    /// without a night, or without a section of its app.
    private static func isRefusedLongAgo(_ now: Date) -> SQL {
        "refused_at < \(now - Retention.refusedNotices)"
    }

    /// When the oldest order was opened of those that were never paid and need not be kept; `nil` if there is none.
    public func oldestPurgeableOrder(_ retention: Retention, now: Date) async throws(LedgerError) -> Date? {
        try await translating { try await purgeableOrders(retention, now).decode("oldest", as: Date?.self) }
    }

    private func purgeableOrders(_ retention: Retention, _ now: Date) async throws -> Row {
        try await onlyWithinTime(
            "SELECT orders, oldest FROM count_unpaid_orders(\(retention.orders.map { now - $0 }))")
    }

    /// How much a purge of the whole inbox would take away.
    public func countPurgeable(_ retention: Retention, now: Date) async throws(LedgerError) -> Purged {
        try await translating {
            let before = retention.moments(before: now)
            let row = try await onlyWithinTime(
                """
                SELECT payloads, devices, (
                    SELECT count(*)
                    FROM iap.handed_notices
                    WHERE \(Self.isRefusedLongAgo(now))) AS notices
                FROM count_purgeable(\(before.payloads), \(before.devices))
                """)
            return Purged(
                payloads: try row.decode("payloads"), devices: try row.decode("devices"),
                orders: try await purgeableOrders(retention, now).decode("orders"),
                notices: try row.decode("notices"))
        }
    }

    /// The only row of a query that sees to it that a cluster's workers wait for a lock no longer than this session: that
    /// holds for a transaction, and outside of one they would wait for ever.
    private func onlyWithinTime(_ query: SQL) async throws -> Row {
        try await connection.transaction { try await connection.only(query) }
    }

    /// Writes into the audit trail what was purged; by a run, or by the command.
    public func notePurge(_ purged: Purged, runID: Int64?, now: Date) async throws(LedgerError) {
        try await translating {
            try await note(
                "purged", runID: runID, at: now,
                details: [
                    "payloads": String(purged.payloads), "devices": String(purged.devices),
                    "orders": String(purged.orders), "notices": String(purged.notices),
                ])
        }
    }
}

extension Retention {
    /// The moments before which a receipt was last tried whose payload or device goes; `nil` if it stays for ever.
    fileprivate func moments(before now: Date) -> (payloads: Date?, devices: Date?) {
        (payloads.map { now - $0 }, devices.map { now - $0 })
    }
}
