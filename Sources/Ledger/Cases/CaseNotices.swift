import Foundation
import PostgreSQL
import Reconciliation

/// What Apple told by itself of a page of cases.
struct CaseNotices {
    fileprivate struct Told {
        var sending: NoticeSending.State?
        var askedAt: Date?
        /// The receipts as which it was handed in.
        var receiptIDs: Set<Int64> = []
    }

    /// Apple's notification may be an hour late, and its history some more.
    private static let late: TimeInterval = 6 * 3600

    /// Whether Apple asks by the notice in hand whether a purchase was delivered.
    static let isQuestion: SQL = "type = 'CONSUMPTION_REQUEST' AND consumption_reason = 'FULFILLMENT_ISSUE'"

    fileprivate var told: [TransactionKey: Told] = [:]
    /// Up to when Apple's history was read, by app.
    fileprivate var heardThrough: [String: Date] = [:]

    /// Adds what Apple told of it. What was handed in because of that speaks for nobody, and is no upload.
    func add(to facts: inout CaseFacts) {
        facts.notices = self.facts(of: facts)
        guard let told = told[facts.key] else { return }
        facts.sightings.removeAll { told.receiptIDs.contains($0.receiptID) }
    }

    private func facts(of facts: CaseFacts) -> NoticeFacts {
        guard let told = told[facts.key] else {
            let heard = heardThrough["\(facts.key.bundleID) \(facts.key.environment.rawValue)"]
            return NoticeFacts(isMissing: heard.map { $0 > facts.purchasedAt + Self.late } ?? false)
        }
        let isOnlyWitness =
            !told.receiptIDs.isEmpty && facts.admittedFor == nil && facts.claims.isEmpty && facts.mentions.isEmpty
            && facts.sightings.allSatisfy { told.receiptIDs.contains($0.receiptID) }
        return NoticeFacts(sending: told.sending, isOnlyWitness: isOnlyWitness, askedAt: told.askedAt)
    }
}

extension LedgerSession {
    func notices(of page: [CaseFacts]) async throws -> CaseNotices {
        var notices = CaseNotices()
        for row in try await connection.query(
            "SELECT bundle_id || ' ' || environment AS app, heard_through FROM hearings WHERE heard_through IS NOT NULL"
        ) {
            notices.heardThrough[try row.decode("app")] = try row.decode("heard_through")
        }
        let rows = try await connection.query(
            """
            SELECT
                transaction_id, bundle_id, environment,
                (array_agg(sending ORDER BY signed_at) FILTER (WHERE type = ANY (\(Self.purchases))))[1] AS sending,
                min(signed_at) FILTER (WHERE \(CaseNotices.isQuestion)) AS asked_at,
                array_agg(receipt_id) FILTER (WHERE receipt_id IS NOT NULL) AS receipt_ids
            FROM notices
            WHERE transaction_id = ANY (\(page.map(\.key.id.text)))
            GROUP BY transaction_id, bundle_id, environment
            """)
        for row in rows {
            var told = CaseNotices.Told()
            told.sending = try row.wordIfAny("sending")
            told.askedAt = try row.decode("asked_at")
            told.receiptIDs = Set(try row.decode("receipt_ids", as: [Int64]?.self) ?? [])
            notices.told[try TransactionKey(row)] = told
        }
        return notices
    }

    /// The notifications that tell of a purchase.
    private static let purchases = ["ONE_TIME_CHARGE", "SUBSCRIBED", "DID_RENEW", "OFFER_REDEEMED"]
}
