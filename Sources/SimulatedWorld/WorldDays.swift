import AppStoreSimulator
import Foundation
import PostgreSQL

/// Plays a day, or several without a night between them: uploads, orders, claims and entitlements, one statement for
/// each.
struct WorldDays {
    let days: ClosedRange<Int>
    let world: World
    let connection: Connection

    func play() async throws {
        try await copyUploads()
        try await submit()
        let orders = events(world.events.orders, at: \.at, of: \.bundleID)
        try await register(orders.told)
        try await keep(orders.kept)
        let claims = events(
            world.events.claims + world.events.forged.map(\.claim), at: \.at, of: \.bundleID)
        if !claims.told.isEmpty { try await settle(claims.told) }
        try await keep(claims.kept)
        try await handOnNotices()
        let grants = events(world.events.grants, at: \.at, of: \.bundleID)
        try await grant(grants.told)
        try await keep(grants.kept)
        try await connection.executeScript(unsafe: "DROP TABLE IF EXISTS day_uploads, day_claims; ANALYZE")
    }

    private func isNow(_ moment: Date) -> Bool { days.contains(world.settings.day(of: moment)) }

    /// The events of these days, in order: what servers tell through the functions, or what they keep to themselves.
    private func events<Event>(
        _ events: [Event], at moment: (Event) -> Date, of bundleID: (Event) -> String
    ) -> (told: [Event], kept: [Event]) {
        let all = events.filter { isNow(moment($0)) }.sorted { moment($0) < moment($1) }
        return (
            all.filter { !WorldApp.withOwnTables.contains(bundleID($0)) },
            all.filter { WorldApp.withOwnTables.contains(bundleID($0)) }
        )
    }

    // MARK: Uploads

    private func copyUploads() async throws {
        try await connection.execute(
            """
            CREATE TEMPORARY TABLE day_uploads (
                number integer PRIMARY KEY, bundle_id text, user_id text, payload text, transaction_id text,
                order_id text, device jsonb, at timestamptz, receipt_id bigint)
            """)
        let uploads = world.events.uploads.enumerated().filter { isNow($0.element.at) }
            .sorted { $0.element.at < $1.element.at }
        let payloads = world.payloads(of: uploads.map(\.element.content))
        let target = CopyTarget(
            table: "day_uploads",
            columns: ["number", "bundle_id", "user_id", "payload", "transaction_id", "order_id", "device", "at"])
        _ = try await connection.copyIn(into: target, rows: uploads) { numbered, row in
            let upload = numbered.element
            row.append(Int32(numbered.offset))
            row.append(upload.bundleID)
            row.append(upload.userID)
            row.append(payloads[upload.content])
            row.append(upload.transactionID)
            row.append(upload.orderID)
            row.append(jsonb: upload.device)
            row.append(upload.at)
        }
    }

    /// Hands all in, and moves them to their moments. A receipt that was there before keeps its due time.
    private func submit() async throws {
        try await connection.execute(
            """
            UPDATE day_uploads
            SET receipt_id = iap.submit_receipt(bundle_id, user_id, payload, transaction_id, order_id, device)
            """)
        try await moveReceipts()
        try await connection.execute(
            """
            INSERT INTO world.uploads
            SELECT number, receipt_id, transaction_id, order_id, at FROM day_uploads
            """)
        try await moveUploads()
    }

    /// The inbox may be on other servers than the world's own tables, so the world's data is passed to them.
    private func moveReceipts() async throws {
        let rows = try await connection.query(
            """
            SELECT receipt_id, min(at) AS at
            FROM day_uploads d
            WHERE NOT EXISTS (SELECT FROM world.uploads u WHERE u.receipt_id = d.receipt_id)
            GROUP BY receipt_id
            """)
        try await connection.execute(
            """
            UPDATE iap.receipts r
            SET submitted_at = d.at, next_attempt_at = d.at,
                seal = audit.receipt_seal(
                    r.bucket, r.receipt_id, r.bundle_id, r.user_id, r.payload_sha256, r.order_id, r.transaction_id,
                    d.at, r.state, r.is_erased)
            FROM unnest(
                \(try rows.map { try $0("receipt_id", as: Int64.self) }), \(try rows.map { try $0("at", as: Date.self) })
            ) AS d (receipt_id, at)
            WHERE r.bucket = (d.receipt_id & 63)::smallint AND r.receipt_id = d.receipt_id
            """)
    }

    private func moveUploads() async throws {
        let rows = try await connection.query(
            """
            SELECT receipt_id, transaction_id, order_id, min(at) AS first_at, max(at) AS last_at
            FROM world.uploads
            WHERE receipt_id IN (SELECT receipt_id FROM day_uploads)
            GROUP BY receipt_id, transaction_id, order_id
            """)
        try await connection.execute(
            """
            UPDATE iap.uploads u
            SET first_uploaded_at = w.first_at, last_uploaded_at = w.last_at,
                seal = audit.seal(ROW(
                    u.bucket, u.receipt_id, u.transaction_id, u.order_id, w.first_at, w.last_at, u.times,
                    NULL)::iap.uploads)
            FROM unnest(
                \(try rows.map { try $0("receipt_id", as: Int64.self) }),
                \(try rows.map { try $0("transaction_id", as: String?.self) }),
                \(try rows.map { try $0("order_id", as: String?.self) }),
                \(try rows.map { try $0("first_at", as: Date.self) }),
                \(try rows.map { try $0("last_at", as: Date.self) })
            ) AS w (receipt_id, transaction_id, order_id, first_at, last_at)
            WHERE u.bucket = (w.receipt_id & 63)::smallint AND u.receipt_id = w.receipt_id
                AND u.transaction_id IS NOT DISTINCT FROM w.transaction_id
                AND u.order_id IS NOT DISTINCT FROM w.order_id
            """)
    }

    // MARK: Orders

    private func register(_ orders: [WorldOrder]) async throws {
        try await connection.execute(
            """
            SELECT iap.register_order(bundle_id, order_id, user_id, product_id, created_at => at)
            FROM unnest(
                \(orders.map(\.bundleID)), \(orders.map(\.id)), \(orders.map(\.userID)), \(orders.map(\.productID)),
                \(orders.map(\.at))
            ) AS opened (bundle_id, order_id, user_id, product_id, at)
            """)
    }

    // MARK: Notifications

    /// Makes the apps' servers hand on what Apple posted to their URLs.
    private func handOnNotices() async throws {
        guard world.settings.handsNoticesOn else { return }
        for bundleID in world.settings.keys.sorted() {
            let payloads = world.noticesTaken(by: bundleID, isNow)
            try await connection.execute(
                """
                SELECT iap.submit_notification(\(bundleID), payload) FROM unnest(\(payloads)) AS posted (payload)
                """)
        }
    }

    // MARK: Claims

    private func settle(_ claims: [WorldClaim]) async throws {
        try await copy(claims)
        try await expect(["white", "already_white"], Self.admit)
        try await rollBack()
        try await expect(["delivered"], Self.claim("delivered"))
        try await expect(["already_delivered"], Self.claim("already_delivered"))
        for statement in Self.moves { try await connection.execute(statement) }
    }

    private func copy(_ claims: [WorldClaim]) async throws {
        try await connection.execute(
            """
            CREATE TEMPORARY TABLE day_claims (
                number integer, bundle_id text, transaction_id text, original_transaction_id text, product_id text,
                quantity integer, purchased_at timestamptz, user_id text, order_id text, upload integer,
                at timestamptz, kind text)
            """)
        let target = CopyTarget(
            table: "day_claims",
            columns: [
                "number", "bundle_id", "transaction_id", "original_transaction_id", "product_id", "quantity",
                "purchased_at", "user_id", "order_id", "upload", "at", "kind",
            ])
        _ = try await connection.copyIn(into: target, rows: claims.enumerated()) { numbered, row in
            let claim = numbered.element
            row.append(Int32(numbered.offset))
            row.append(claim.bundleID)
            row.append(claim.transaction.id)
            row.append(claim.transaction.originalID)
            row.append(claim.transaction.productID)
            row.append(Int32(claim.transaction.quantity))
            row.append(claim.transaction.purchasedAt)
            row.append(claim.userID)
            row.append(claim.orderID)
            row.append(Int32(claim.upload))
            row.append(claim.at)
            row.append(claim.kind.rawValue)
        }
        // Customers who got their goods without being there are told so.
        try await connection.execute(
            """
            UPDATE day_claims d
            SET kind = 'already_delivered'
            FROM world.redeliveries r
            WHERE r.transaction_id = d.transaction_id AND r.bundle_id = d.bundle_id AND d.kind = 'delivered'
            """)
        // Nor does anybody come for what the support desk has ended, of which the made-up days know nothing.
        try await connection.execute(
            """
            DELETE FROM day_claims d
            USING iap.transactions t
            WHERE t.transaction_id = d.transaction_id AND t.bundle_id = d.bundle_id
                AND (t.delivered_by = 'resolved' OR t.reason IN ('dismissed', 'refunded') AND t.excluded_run_id IS NULL)
            """)
        try await connection.executeScript(unsafe: "ANALYZE day_claims; ANALYZE world.uploads")
    }

    /// Each call takes its own moment for the present, which the schema's owner may do.
    private static let admit: SQL = """
        SELECT outcome, count(*) AS times
        FROM (
            SELECT
                set_config('iap.present', d.at::text, true),
                iap.admit(
                    d.bundle_id, 'Production', d.transaction_id, d.original_transaction_id, d.product_id, d.quantity,
                    d.purchased_at, d.user_id, u.receipt_id) AS outcome
            FROM day_claims d
            JOIN world.uploads u ON u.number = d.upload
            WHERE d.kind <> 'already_delivered') admitted
        GROUP BY outcome
        """

    private static func claim(_ kind: String) -> SQL {
        """
        SELECT outcome, count(*) AS times
        FROM (
            SELECT
                set_config('iap.present', at::text, true),
                iap.claim(bundle_id, transaction_id, user_id, order_id) AS outcome
            FROM day_claims
            WHERE kind = \(kind)) claimed
        GROUP BY outcome
        """
    }

    /// Ends the transaction in which the app's server could not credit the goods.
    private struct CreditFailed: Error {}

    private func rollBack() async throws {
        do {
            try await connection.transaction {
                try await connection.execute(Self.claim("rolled_back"))
                throw CreditFailed()
            }
        } catch .body(is CreditFailed, rollback: nil) {}
    }

    /// The world knows what the functions will answer; any other answer is a fault of theirs, or of the world.
    private func expect(_ outcomes: Set<String>, _ sql: SQL) async throws {
        for row in try await connection.query(sql) {
            let outcome: String = try row("outcome")
            guard outcomes.contains(outcome) else {
                throw SimulatorError.database(
                    """
                    days \(days): \(try row("times", as: Int.self)) purchases met \(outcome), and not \
                    \(outcomes.sorted().joined(separator: " or ")): use a fresh database, and play each day once
                    """)
            }
        }
    }

    private static let moves: [SQL] = [
        """
        UPDATE iap.claims c
        SET attempted_at = d.at,
            seal = audit.seal(ROW(
                c.claim_id, c.transaction_id, c.bundle_id, c.user_id, c.order_id, c.outcome, d.at, NULL)::iap.claims)
        FROM day_claims d
        WHERE c.transaction_id = d.transaction_id AND c.bundle_id = d.bundle_id AND c.user_id = d.user_id
            AND c.outcome = d.kind
        """,
        """
        UPDATE iap.cases c
        SET closed_at = d.at
        FROM day_claims d
        WHERE c.transaction_id = d.transaction_id AND c.bundle_id = d.bundle_id AND d.kind = 'delivered'
            AND c.closed_as = 'delivered'
        """,
    ]
}
