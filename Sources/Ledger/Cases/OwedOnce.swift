public import Foundation
import PostgreSQL

extension LedgerSession {
    /// Takes out of white what was bought once and is not owed under another transaction id any more, and puts back
    /// what was taken out for a refund that was reversed. If Apple tells of a refund under another id than the purchase
    /// was delivered under, it counts for the delivered one.
    public func keepOwedOnce(runID: Int64, now: Date) async throws(LedgerError) {
        try await translating {
            _ = try await connection.query("SELECT iap.release_restored(\(runID), \(now))")
            var withdrawn: Int64
            repeat {
                withdrawn = try await connection.only(
                    "SELECT iap.withdraw_all_restored(\(runID), \(now), \(Self.withdrawnAtOnce)) AS count"
                ).decode("count")
            } while withdrawn > 0
            _ = try await connection.query("SELECT iap.carry_refunds(\(runID), \(now))")
        }
    }

    private static let withdrawnAtOnce: Int32 = 5000
}
