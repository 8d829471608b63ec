import Foundation
import PostgreSQL
import Reconciliation

extension IntegrityCheck {
    /// A query whose rows are what does not hold, each with its id in the column `example`.
    ///
    /// - Parameter since: where it is given, only deliveries from then on are looked at.
    func violations(since: Date? = nil) -> SQL {
        switch self {
        case .whiteAndBlack: Self.both("white", "black")
        case .whiteAndExcluded: Self.both("white", "excluded")
        case .blackAndExcluded: Self.both("excluded", "black")
        case .deliveredClaims: Self.claimsWithoutDelivery(since: since)
        case .claimsOfDeliveries: Self.deliveriesWithoutClaim
        case .eventsOfDeliveries: Self.deliveriesWithoutEvent
        case .openCases: Self.casesWithoutWhite
        case .receiptsWithOutcome: Self.receiptsWithoutSighting
        case .sightedTransactions: Self.sightingsOfNothing
        case .controlTotals: Self.unbalancedRuns
        case .movements: Self.runsUnlikeMovements
        case .whiteTotals: Self.whiteUnlikeBooks
        case .whiteSeals: Self.misfits(.white)
        case .blackSeals: Self.misfits(.black)
        case .excludedSeals: Self.misfits(.excluded)
        case .claimSeals: Self.misfits(.claim)
        case .events: Self.changedEvents
        case .eventsInOrder: Self.slippedInEvents
        case .chain: Self.brokenLinks
        }
    }

    /// Looks each transaction of the smaller table up in the larger, which a join might read as a whole: each night would
    /// take longer than the one before.
    private static func both(_ smaller: String, _ larger: String) -> SQL {
        """
        SELECT few.transaction_id AS example
        FROM \(identifier: smaller) AS few
        CROSS JOIN LATERAL (
            SELECT
            FROM \(identifier: larger) AS many
            WHERE many.transaction_id = few.transaction_id
                AND many.bundle_id = few.bundle_id
                AND many.environment = few.environment
            LIMIT 1
        ) AS found
        """
    }

    private static func misfits(_ seal: Seal) -> SQL {
        """
        SELECT transaction_id AS example
        FROM \(identifier: seal.table)
        WHERE seal IS DISTINCT FROM \(seal.ofRow())
        """
    }

    // MARK: Deliveries

    private static func claimsWithoutDelivery(since: Date?) -> SQL {
        let period: SQL = since.map { "AND claims.attempted_at >= \($0)" } ?? ""
        return """
            SELECT claims.transaction_id AS example
            FROM claims
            LEFT JOIN black
                ON black.transaction_id = claims.transaction_id AND black.bundle_id = claims.bundle_id
                    AND black.user_id = claims.user_id AND black.delivered_by IN ('claim', 'import')
            WHERE claims.outcome = 'delivered' \(period)
            GROUP BY claims.transaction_id, claims.bundle_id
            HAVING count(DISTINCT claims.claim_id) <> count(DISTINCT black.environment)
            """
    }

    private static let deliveriesWithoutClaim: SQL = """
        SELECT transaction_id AS example
        FROM black
        WHERE delivered_by = 'claim' AND NOT EXISTS (
            SELECT FROM claims
            WHERE claims.transaction_id = black.transaction_id AND claims.bundle_id = black.bundle_id
                AND claims.user_id = black.user_id AND claims.outcome = 'delivered')
        """

    private static let deliveriesWithoutEvent: SQL = """
        SELECT transaction_id AS example
        FROM black
        WHERE delivered_by IN ('claim', 'resolved') AND NOT EXISTS (
            SELECT FROM events
            WHERE events.transaction_id = black.transaction_id AND events.bundle_id = black.bundle_id
                AND events.environment = black.environment
                AND events.kind = CASE black.delivered_by WHEN 'claim' THEN 'claimed' ELSE 'resolved' END)
        """

    // MARK: Cases and receipts

    private static let casesWithoutWhite: SQL = """
        SELECT transaction_id AS example
        FROM cases
        LEFT JOIN white USING (transaction_id, bundle_id, environment)
        WHERE state = 'open' AND white.transaction_id IS NULL
        """

    private static let receiptsWithoutSighting: SQL = """
        SELECT 'receipt ' || receipt_id AS example
        FROM receipts
        WHERE state IN ('watched', 'settled') AND NOT EXISTS (
            SELECT FROM sightings
            WHERE sightings.receipt_id = receipts.receipt_id AND sightings.bucket = receipts.bucket)
        """

    private static let sightingsOfNothing: SQL = """
        SELECT DISTINCT transaction_id AS example
        FROM sightings
        LEFT JOIN white USING (transaction_id, bundle_id, environment)
        LEFT JOIN black USING (transaction_id, bundle_id, environment)
        LEFT JOIN excluded USING (transaction_id, bundle_id, environment)
        WHERE num_nonnulls(white.purchased_at, black.purchased_at, excluded.purchased_at) = 0
        """
}
