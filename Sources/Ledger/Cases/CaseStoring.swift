public import Foundation
import PostgreSQL
public import Reconciliation

/// A case as the assessment left it, to be stored.
public struct AssessedCase: Sendable {
    public let key: TransactionKey
    public let assessment: Assessment
    /// The periods of a subscription that it tells of; empty if it is about one purchase.
    public let periods: [TransactionID]

    public init(key: TransactionKey, assessment: Assessment, periods: [TransactionID] = []) {
        self.key = key
        self.assessment = assessment
        self.periods = periods
    }
}

extension LedgerSession {
    /// Stores the assessments. A case that says the same as before is left alone, so that running again changes
    /// nothing; one that was closed while its transaction is white is open again. Each is stored while its transaction
    /// is held in white: what another session has locked is left out.
    ///
    /// - Returns: the transactions that are left out.
    public func store(_ cases: [AssessedCase], runID: Int64, now: Date) async throws(LedgerError) -> [TransactionID] {
        guard !cases.isEmpty else { return [] }
        return try await translating {
            let rows = try await connection.query(CaseStoring(cases: cases, runID: runID, now: now).statement())
            return try rows.map { try $0.id("transaction_id") }
        }
    }
}

/// The one statement that stores a page of cases, by its steps.
private struct CaseStoring {
    let cases: [AssessedCase]
    let runID: Int64
    let now: Date

    func statement() throws -> SQL {
        """
        WITH assessed AS MATERIALIZED (
            \(try assessed())
        ), news AS MATERIALIZED (
            \(Self.news)
        ), held AS MATERIALIZED (
            \(Self.held)
        ), stored AS (
            \(stored)
        ), noted AS (
            \(noted)
        )
        \(Self.leftOut)
        """
    }

    private func assessed() throws -> SQL {
        let owners = cases.map { ArrayLiteral($0.assessment.owner.candidates).text }
        let reasons = cases.map { ArrayLiteral($0.assessment.reasons.map(\.rawValue)).text }
        let orders = cases.map { ArrayLiteral($0.assessment.orderIDs).text }
        let periods = cases.map { ArrayLiteral($0.periods.map(\.text)).text }
        let candidates = try candidates()
        return """
            SELECT
                transaction_id, bundle_id, environment, likelihood, reasons::text[] AS reasons, action,
                owners::text[] AS owner_user_ids, candidates::jsonb AS candidates,
                orders::text[] AS order_ids, periods::text[] AS periods
            FROM unnest(
                \(cases.map(\.key.id.text)), \(cases.map(\.key.bundleID.text)),
                \(cases.map(\.key.environment.rawValue)), \(cases.map(\.assessment.likelihood.rawValue)),
                \(reasons), \(cases.map(\.assessment.action.rawValue)), \(owners), \(candidates), \(orders),
                \(periods)
            ) AS assessed (
                transaction_id, bundle_id, environment, likelihood, reasons, action, owners, candidates, orders,
                periods)
            """
    }

    /// What the tables do not say yet.
    private static let news: SQL = """
        SELECT assessed.*
        FROM assessed
        LEFT JOIN LATERAL (
            SELECT * FROM cases AS found
            WHERE found.transaction_id = assessed.transaction_id AND found.bundle_id = assessed.bundle_id
                AND found.environment = assessed.environment
            OFFSET 0
        ) AS known ON true
        WHERE known.state IS DISTINCT FROM 'open' OR known.reopened_run_id = 0
            OR (
                known.likelihood, known.reasons, known.action, known.owner_user_ids, known.candidates,
                known.order_ids, known.periods)
                IS DISTINCT FROM (
                    assessed.likelihood, assessed.reasons, assessed.action, assessed.owner_user_ids,
                    assessed.candidates, assessed.order_ids, assessed.periods)
        """

    /// Whoever would claim one now waits for this to commit; what somebody claims now is left out. They are found by
    /// the primary key: the planner takes white for as small as it was before this night.
    private static let held: SQL = """
        SELECT news.*, found.place
        FROM news
        LEFT JOIN LATERAL (
            SELECT place FROM transactions AS t
            WHERE t.transaction_id = news.transaction_id AND t.bundle_id = news.bundle_id
                AND t.environment = news.environment
            OFFSET 0
            FOR KEY SHARE SKIP LOCKED
        ) AS found ON true
        """

    /// The cases as they stand now, and what the trail says of each.
    private var stored: SQL {
        """
        INSERT INTO cases AS known (
            transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids,
            candidates, order_ids, periods, opened_at, opened_run_id, assessed_at, assessed_run_id, told_run_id)
        SELECT
            transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids,
            candidates, order_ids, periods, \(now), \(runID), \(now), \(runID), \(runID)
        FROM held
        WHERE place = 'white'
        ORDER BY transaction_id, bundle_id, environment
        ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
        SET state = 'open', closed_at = NULL, closed_as = NULL, closed_by = NULL, note = NULL,
            likelihood = EXCLUDED.likelihood, reasons = EXCLUDED.reasons, action = EXCLUDED.action,
            owner_user_ids = EXCLUDED.owner_user_ids, candidates = EXCLUDED.candidates,
            order_ids = EXCLUDED.order_ids, periods = EXCLUDED.periods, assessed_at = EXCLUDED.assessed_at,
            assessed_run_id = EXCLUDED.assessed_run_id,
            reopened_run_id = CASE WHEN \(Self.isOpenedAgain)
                THEN EXCLUDED.assessed_run_id ELSE known.reopened_run_id END,
            told_run_id = CASE WHEN \(Self.isOpenedAgain) THEN EXCLUDED.told_run_id ELSE known.told_run_id END
        RETURNING
            transaction_id, bundle_id, environment,
            CASE
                WHEN reopened_run_id = assessed_run_id THEN 'case_reopened'
                WHEN opened_run_id = assessed_run_id THEN 'case_opened'
                ELSE 'case_changed'
            END AS kind,
            jsonb_build_object(
                'likelihood', likelihood, 'reasons', reasons, 'owner_user_ids', owner_user_ids) AS details
        """
    }

    private static let isOpenedAgain: SQL = "(known.state = 'closed' OR known.reopened_run_id = 0)"

    private var noted: SQL {
        """
        INSERT INTO events
        SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
        FROM (
            SELECT
                nextval('iap.trail'), \(now), kind, 'iap-reconcile', \(runID), transaction_id, bundle_id,
                environment, details
            FROM stored
            ORDER BY transaction_id, bundle_id, environment
        ) AS event
        """
    }

    /// The transactions that another session has locked and that are white all the same.
    private static let leftOut: SQL = """
        SELECT held.transaction_id
        FROM held
        CROSS JOIN LATERAL (
            SELECT place FROM transactions AS t
            WHERE t.transaction_id = held.transaction_id AND t.bundle_id = held.bundle_id
                AND t.environment = held.environment
            OFFSET 0
        ) AS found
        WHERE held.place IS NULL AND found.place = 'white'
        """

    /// The candidates as JSON, which purchases of one customer have in common. Their coding keys are those of the
    /// column, so no strategy is needed for each.
    private func candidates() throws -> [String] {
        let encoder = JSONEncoder()
        var known: [[OwnerCandidate]: String] = [:]
        return try cases.map { found in
            let candidates = found.assessment.candidates
            if let text = known[candidates] { return text }
            let text = String(decoding: try encoder.encode(candidates), as: UTF8.self)
            known[candidates] = text
            return text
        }
    }
}
