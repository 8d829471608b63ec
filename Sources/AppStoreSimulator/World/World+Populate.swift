import Foundation
import PostgreSQL

extension World {
    /// What `populate` did, for one line on standard output.
    public struct Populated: Sendable, CustomStringConvertible {
        public let uploads: Int
        public let receipts: Int
        public let deliveries: Int

        public var description: String {
            "\(uploads) uploads made \(receipts) receipts; \(deliveries) purchases were delivered"
        }
    }

    /// Plays the world on a database that has the schema, through the functions that clients' servers call, and then
    /// moves what the functions stamped with the present to the moments of the world. Wants the owner's rights.
    public func populate(_ conninfo: String) async throws(SimulatorError) -> Populated {
        do {
            let connection = try await Connection.connect(
                ConnectionSettings(conninfo, applicationName: "appstore-simulator"))
            defer { connection.close() }
            return try await WorldPlayer(world: self, connection: connection).play()
        } catch let error as SimulatorError {
            throw error
        } catch {
            throw .database("\(error)")
        }
    }
}

extension World {
    /// What clients send, each receipt signed once.
    func payloads() -> [Upload.Content: String] {
        let contents = Array(Set(events.uploads.map(\.content)))
        let signer = ReceiptSigner(seed: settings.seed)
        let payloads = Parallel.map(contents) { $0.payload(signer) }
        return Dictionary(zip(contents, payloads), uniquingKeysWith: { first, _ in first })
    }
}

/// Plays a world's events in three steps, each a statement for all: upload, admit, claim.
private struct WorldPlayer {
    let world: World
    let connection: Connection

    private var events: WorldEvents { world.events }

    func play() async throws -> World.Populated {
        try await connection.fillProducts()
        try await copyUploads()
        try await copyDeliveries()
        try await connection.execute(
            """
            UPDATE world_uploads
            SET receipt_id = iap.submit_receipt(bundle_id, user_id, payload, transaction_id, order_id, device)
            """)
        try await connection.executeScript(unsafe: "ANALYZE world_uploads; ANALYZE iap.receipts; ANALYZE iap.uploads")
        try await expect("admitted", "white", try await connection.query(Self.admit))
        try await connection.executeScript(unsafe: "ANALYZE iap.transactions; ANALYZE iap.sightings")
        try await claimAndRollBack()
        try await expect("claimed", "delivered", try await connection.query(Self.claim))
        for statement in WorldTimes.statements { try await connection.execute(statement) }
        try await connection.executeScript(unsafe: "ANALYZE")
        return World.Populated(
            uploads: events.uploads.count, receipts: try await receiptCount(), deliveries: events.deliveries.count)
    }

    private func copyUploads() async throws {
        try await connection.execute(
            """
            CREATE TEMPORARY TABLE world_uploads (
                number integer PRIMARY KEY, bundle_id text, user_id text, payload text, transaction_id text,
                order_id text, device jsonb, at timestamptz, receipt_id bigint)
            """)
        let payloads = world.payloads()
        let target = CopyTarget(
            table: "world_uploads",
            columns: [
                "number", "bundle_id", "user_id", "payload", "transaction_id", "order_id", "device", "at",
            ])
        _ = try await connection.copyIn(into: target, rows: events.uploads.enumerated()) { numbered, row in
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

    private func copyDeliveries() async throws {
        try await connection.execute(
            """
            CREATE TEMPORARY TABLE world_deliveries (
                bundle_id text, transaction_id text, original_transaction_id text, product_id text, quantity integer,
                purchased_at timestamptz, user_id text, order_id text, upload integer, at timestamptz,
                is_rolled_back boolean)
            """)
        let target = CopyTarget(
            table: "world_deliveries",
            columns: [
                "bundle_id", "transaction_id", "original_transaction_id", "product_id", "quantity", "purchased_at",
                "user_id", "order_id", "upload", "at", "is_rolled_back",
            ])
        _ = try await connection.copyIn(into: target, rows: events.deliveries) { delivery, row in
            row.append(delivery.bundleID)
            row.append(delivery.transaction.id)
            row.append(delivery.transaction.originalID)
            row.append(delivery.transaction.productID)
            row.append(Int32(delivery.transaction.quantity))
            row.append(delivery.transaction.purchasedAt)
            row.append(delivery.userID)
            row.append(delivery.orderID)
            row.append(Int32(delivery.upload))
            row.append(delivery.at)
            row.append(delivery.isRolledBack)
        }
    }

    private static let admit: SQL = """
        SELECT outcome, count(*) AS times
        FROM (
            SELECT iap.admit(
                d.bundle_id, 'Production', d.transaction_id, d.original_transaction_id, d.product_id, d.quantity,
                d.purchased_at, d.user_id, u.receipt_id) AS outcome
            FROM world_deliveries d
            JOIN world_uploads u ON u.number = d.upload) admitted
        GROUP BY outcome
        """

    private static let claim: SQL = """
        SELECT outcome, count(*) AS times
        FROM (
            SELECT iap.claim(bundle_id, transaction_id, user_id, order_id) AS outcome
            FROM world_deliveries
            WHERE NOT is_rolled_back) claimed
        GROUP BY outcome
        """

    /// Ends the transaction in which the app's server could not credit the goods.
    private struct CreditFailed: Error {}

    private func claimAndRollBack() async throws {
        do {
            try await connection.transaction {
                try await connection.execute(
                    """
                    SELECT iap.claim(bundle_id, transaction_id, user_id, order_id)
                    FROM world_deliveries WHERE is_rolled_back
                    """)
                throw CreditFailed()
            }
        } catch .body(is CreditFailed, rollback: nil) {}
    }

    /// A world whose purchases meet another outcome lies over rows that were there before.
    private func expect(_ what: String, _ outcome: String, _ rows: [Row]) async throws {
        for row in rows {
            let found: String = try row("outcome")
            let times: Int = try row("times")
            guard found == outcome else {
                throw SimulatorError.database(
                    """
                    \(times) purchases could not be \(what), the answer is \(found): was this world played on this \
                    database before? Use a fresh database or another seed
                    """)
            }
        }
    }

    private func receiptCount() async throws -> Int {
        let rows = try await connection.query("SELECT count(DISTINCT receipt_id) AS receipts FROM world_uploads")
        return try rows.first?("receipts") ?? 0
    }
}

/// The statements that move what was stamped with the present to the moments of the world.
private enum WorldTimes {
    static let statements: [SQL] = [
        """
        UPDATE iap.receipts r
        SET submitted_at = w.first_at, next_attempt_at = w.first_at
        FROM (SELECT receipt_id, min(at) AS first_at FROM world_uploads GROUP BY receipt_id) w
        WHERE r.bucket = (w.receipt_id & 63)::smallint AND r.receipt_id = w.receipt_id
        """,
        """
        UPDATE iap.uploads u
        SET first_uploaded_at = w.first_at, last_uploaded_at = w.last_at
        FROM (
            SELECT receipt_id, transaction_id, order_id, min(at) AS first_at, max(at) AS last_at
            FROM world_uploads
            GROUP BY receipt_id, transaction_id, order_id) w
        WHERE u.bucket = (w.receipt_id & 63)::smallint AND u.receipt_id = w.receipt_id
            AND u.transaction_id IS NOT DISTINCT FROM w.transaction_id AND u.order_id IS NOT DISTINCT FROM w.order_id
        """,
        """
        UPDATE iap.sightings s
        SET uploaded_at = w.first_at
        FROM (SELECT receipt_id, min(at) AS first_at FROM world_uploads GROUP BY receipt_id) w
        WHERE s.receipt_id = w.receipt_id AND s.bucket = (w.receipt_id & 63)::smallint
        """,
        """
        UPDATE iap.claims c
        SET attempted_at = d.at
        FROM world_deliveries d
        WHERE c.transaction_id = d.transaction_id AND c.bundle_id = d.bundle_id
        """,
        """
        UPDATE iap.transactions t
        SET first_seen_at = d.at, verified_at = d.at,
            delivered_at = CASE t.place WHEN 'black' THEN d.at END
        FROM world_deliveries d
        WHERE t.transaction_id = d.transaction_id AND t.bundle_id = d.bundle_id AND t.environment = 'Production'
        """,
        """
        UPDATE iap.moves m
        SET moved_at = d.at,
            to_day = CASE m.to_place WHEN 'black' THEN (d.at AT TIME ZONE 'UTC')::date ELSE m.to_day END
        FROM world_deliveries d
        WHERE m.transaction_id = d.transaction_id AND m.bundle_id = d.bundle_id AND m.environment = 'Production'
        """,
        "UPDATE iap.transactions t SET seal = audit.seal(t)",
        "UPDATE iap.moves m SET seal = audit.seal(m)",
        "UPDATE iap.claims c SET seal = audit.seal(c)",
        "UPDATE iap.sightings s SET seal = audit.seal(s)",
        "UPDATE iap.uploads u SET seal = audit.seal(u)",
        """
        UPDATE iap.receipts
        SET seal = audit.receipt_seal(
            bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, submitted_at, state,
            is_erased)
        """,
    ]
}

extension Connection {
    /// The products that the world's apps sell.
    func fillProducts(_ catalogs: [Catalog] = Catalog.all) async throws(PostgreSQLError) {
        let rows = catalogs.flatMap { catalog in catalog.products.map { (catalog.bundleID, $0) } }
        _ = try await execute(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
            SELECT * FROM unnest(
                \(rows.map(\.0)), \(rows.map(\.1.id)), \(rows.map(\.1.kind.rawValue)), \(rows.map(\.1.name)),
                \(rows.map(\.1.milliunits)), \(rows.map(\.1.currency)))
            ON CONFLICT (bundle_id, product_id) DO UPDATE
            SET type = EXCLUDED.type, name = EXCLUDED.name, list_price_milliunits = EXCLUDED.list_price_milliunits,
                currency = EXCLUDED.currency
            """)
    }
}
