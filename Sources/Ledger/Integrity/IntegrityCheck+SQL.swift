import PostgreSQL
import Reconciliation

extension IntegrityCheck {
    /// A query whose rows are violations of the check, each with its id in the column `example`.
    ///
    /// - Parameter isNightly: whether only what moved since the run before is looked at.
    func violations(isNightly: Bool = false) -> SQL {
        switch self {
        case .latestMoves: Self.misplaced(isNightly: isNightly)
        case .movesInSequence: Self.movesOutOfSequence
        case .deliveredClaims: Self.claimsWithoutDelivery
        case .claimsOfDeliveries: Self.deliveriesWithoutClaim
        case .deliveredOriginals: "\(Self.deliveriesWithoutOriginal) UNION ALL \(Self.originalsWithoutDelivery)"
        case .deliveredOrders: Self.deliveriesWithoutOrder
        case .openCases: Self.casesWithoutWhite
        case .receiptsWithOutcome: Self.receiptsWithoutSighting
        case .receiptsDue: Self.receiptsPutOff
        case .sightedReceipts: Self.sightingsWithoutReceipt
        case .sightedTransactions: "SELECT transaction_id AS example FROM finance.differences"
        case .controlTotals: Self.unbalancedRuns
        case .runTotals: Self.runsUnlikeMoves
        case .whiteTotals: Self.whiteUnlikeBooks
        case .journal: "\(Self.unexplained) UNION ALL \(Self.booksUnlikeMoves) UNION ALL \(Self.daysClosedOtherwise)"
        case .transactionSeals: Self.misfits("transactions", "transaction_id")
        case .moveSeals: Self.misfits("moves", "transaction_id")
        case .claimSeals: Self.misfits("claims", "transaction_id")
        case .sightingSeals: Self.misfits("sightings", "transaction_id")
        case .entitlementSeals: Self.misfits("entitlements", "original_transaction_id")
        case .orderSeals: Self.misfits("orders", "order_id")
        case .tokenSeals: Self.misfits("account_tokens", "app_account_token")
        case .uploadSeals: Self.misfits("uploads", "'receipt ' || receipt_id")
        case .receiptSeals: Self.receiptMisfits
        case .payloads: Self.payloadMisfits
        case .eventSeals: Self.misfits("events", "'event ' || event_id")
        case .chain: "SELECT broken AS example FROM audit.broken_links() AS broken"
        case .erasures: "SELECT 'number ' || wrong AS example FROM audit.wrong_erasures() AS wrong"
        }
    }

    // MARK: Seals

    private static func misfits(_ table: SQL, _ example: SQL) -> SQL {
        "SELECT \(example) AS example FROM \(table) AS held WHERE seal IS DISTINCT FROM audit.seal(held)"
    }

    private static let receiptMisfits: SQL = """
        SELECT 'receipt ' || receipt_id AS example
        FROM receipts
        WHERE seal IS DISTINCT FROM audit.receipt_seal(
            bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state,
            is_erased)
        """

    private static let payloadMisfits: SQL = """
        SELECT 'receipt ' || receipt_id AS example
        FROM receipts
        WHERE payload IS NOT NULL AND payload_sha256 <> sha256(convert_to(payload, 'UTF8'))
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
        LEFT JOIN sightings USING (bucket, receipt_id)
        WHERE receipts.state IN ('watched', 'settled') AND sightings.transaction_id IS NULL
        """

    /// A payload is purged in its time; its receipt stays.
    private static let sightingsWithoutReceipt: SQL = """
        SELECT 'receipt ' || receipt_id AS example
        FROM sightings
        LEFT JOIN receipts USING (bucket, receipt_id)
        WHERE receipts.state IS NULL
        """

    /// What is due by now is not put off, however long ago it was tried: if a case is opened again, Apple is asked
    /// again about its receipts. An attempt at a moment that is still to come was none; but where nights are replayed,
    /// the latest may lie some months ahead.
    private static let receiptsPutOff: SQL = """
        WITH present AS MATERIALIZED (
            SELECT
                CASE
                    WHEN EXISTS (SELECT FROM iap.rehearsal)
                        THEN greatest(now(), (SELECT max(as_of) FROM runs)) + interval '1 year'
                    ELSE now() + interval '1 hour'
                END AS moment
        )
        SELECT 'receipt ' || receipt_id AS example
        FROM receipts
        CROSS JOIN present
        WHERE next_attempt_at > now()
            AND next_attempt_at > interval '1 day' + greatest(
                CASE WHEN last_attempt_at <= moment THEN last_attempt_at END, submitted_at)
        """
}
