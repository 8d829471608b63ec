import Commands
import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// What `verify` finds in a database: the names of the checks that don't hold.
func violations(_ database: ScratchDatabase) async throws -> [String] {
    try await findings(database).filter { !$0.isFine }.map(\.description)
}

private func findings(_ database: ScratchDatabase) async throws -> [IntegrityFinding] {
    var findings: [IntegrityFinding] = []
    let settings = JobSettings(database: database.conninfo(as: "iap_job"), apps: [])
    _ = try await IntegrityAudit(settings: settings).verify { findings.append($0) }
    return findings
}

/// Changes by hand, behind the program's back, each of which `verify` must name.
private enum Edit: String, CaseIterable {
    case whiteAmount, whiteProduct, whiteMoved, whiteBooked, whiteAdmission, whiteRemoved, whiteAdded
    case whiteExpiry, whiteCustomer, blackUser, blackTime, blackRefund, blackRemoved, blackWhiteAgain
    case excludedReason, excludedRemoved
    case claimUser, claimRemoved, claimAdded, originalTaken, orderGivenBack
    case sightingUser, entitlement, orderUser, tokenUser, waitingReceipt, waitingPayload, uploadOrder
    case receiptPutOff, receiptPutOffForEver, receiptTriedLater
    case caseOpened, receiptSettled, receiptRemoved
    case totals, move, moveRemoved, lastMoveAmount, lastMoveRemoved
    case booked, bookedBeyondReckoning, bookedAsFree, bookedLater, bookedTwice, closedLater, closedByNoBooks
    case refundedShare
    case event, eventRemoved, lastEvent, eventSlippedIn, link, lastLinksRemoved

    var sql: SQL {
        switch self {
        case .whiteAmount: "UPDATE iap.white SET quantity = quantity + 1 WHERE transaction_id = \(Self.first("white"))"
        case .whiteProduct: "UPDATE iap.white SET product_id = 'dear' WHERE transaction_id = \(Self.first("white"))"
        case .whiteMoved:
            "UPDATE iap.white SET purchased_at = purchased_at - interval '1 day' WHERE transaction_id = \(Self.first("white"))"
        case .whiteBooked:
            """
            UPDATE iap.white SET booked_milliunits = booked_milliunits + 1 WHERE transaction_id = (
                SELECT min(transaction_id) FROM iap.white WHERE booked_milliunits > 0)
            """
        case .whiteAdmission:
            "UPDATE iap.white SET admitted_user_id = 'thief' WHERE transaction_id = \(Self.first("white"))"
        case .whiteExpiry:
            "UPDATE iap.white SET expires_at = '2000-01-01' WHERE transaction_id = \(Self.first("white"))"
        case .whiteCustomer:
            "UPDATE iap.transactions SET app_transaction_id = 'thief' WHERE transaction_id = \(Self.first("white"))"
        case .whiteRemoved: "DELETE FROM iap.white WHERE transaction_id = \(Self.first("white"))"
        case .whiteAdded:
            """
            INSERT INTO iap.transactions
            SELECT (jsonb_populate_record(transactions, '{"transaction_id": "1"}')).* FROM iap.transactions
            WHERE transaction_id = \(Self.first("white"))
            """
        case .blackUser: "UPDATE iap.black SET user_id = 'thief' WHERE transaction_id = \(Self.first("black"))"
        case .blackTime: "UPDATE iap.black SET delivered_at = now() WHERE transaction_id = \(Self.first("black"))"
        case .blackRefund: "UPDATE iap.black SET refunded_at = now() WHERE transaction_id = \(Self.first("black"))"
        case .blackRemoved: "DELETE FROM iap.black WHERE transaction_id = \(Self.claimed)"
        case .blackWhiteAgain:
            """
            UPDATE iap.transactions
            SET place = 'white', user_id = NULL, order_id = NULL, delivered_by = NULL, delivered_at = NULL,
                refunded_at = NULL, refund_reason = NULL
            WHERE transaction_id = (
                SELECT min(moved.transaction_id) FROM iap.transactions AS moved
                WHERE moved.place = 'black' AND moved.move_id IS NOT NULL)
            """
        case .excludedReason:
            "UPDATE iap.excluded SET reason = 'upgraded' WHERE transaction_id = \(Self.first("excluded"))"
        case .excludedRemoved: "DELETE FROM iap.excluded WHERE transaction_id = \(Self.first("excluded"))"
        case .claimUser: "UPDATE iap.claims SET user_id = 'thief' WHERE transaction_id = \(Self.claimed)"
        case .claimRemoved: "DELETE FROM iap.claims WHERE transaction_id = \(Self.claimed)"
        case .claimAdded:
            """
            INSERT INTO iap.claims (transaction_id, bundle_id, user_id, outcome)
            SELECT transaction_id, bundle_id, 'thief', 'delivered' FROM iap.white
            WHERE transaction_id = \(Self.first("white"))
            """
        case .originalTaken:
            """
            INSERT INTO iap.delivered_originals (original_transaction_id, bundle_id, environment, transaction_id)
            SELECT original_transaction_id, bundle_id, environment, transaction_id FROM iap.white
            WHERE transaction_id = \(Self.first("white"))
            """
        case .orderGivenBack: "DELETE FROM iap.delivered_orders WHERE order_id = 'order-1'"
        case .sightingUser:
            "UPDATE iap.sightings SET user_id = 'thief' WHERE transaction_id = \(Self.first("sightings"))"
        case .orderUser:
            "UPDATE iap.orders SET user_id = 'thief' WHERE order_id = (SELECT min(order_id) FROM iap.orders)"
        case .tokenUser: "UPDATE iap.account_tokens SET user_id = 'thief'"
        case .waitingReceipt: "UPDATE iap.receipts SET user_id = 'thief' WHERE receipt_id = \(Self.waiting)"
        case .waitingPayload: "UPDATE iap.receipts SET payload = 'another' WHERE receipt_id = \(Self.waiting)"
        case .receiptPutOff:
            "UPDATE iap.receipts SET next_attempt_at = now() + interval '9 years' WHERE receipt_id = \(Self.waiting)"
        case .receiptPutOffForEver:
            "UPDATE iap.receipts SET next_attempt_at = 'infinity' WHERE receipt_id = \(Self.waiting)"
        case .receiptTriedLater:
            """
            UPDATE iap.receipts
            SET last_attempt_at = now() + interval '9 years', next_attempt_at = now() + interval '9 years'
            WHERE receipt_id = \(Self.waiting)
            """
        case .uploadOrder:
            """
            UPDATE iap.uploads SET order_id = 'another' WHERE receipt_id = (SELECT min(receipt_id) FROM iap.uploads)
            """
        case .caseOpened:
            """
            UPDATE iap.cases SET transaction_id = '1' WHERE state = 'open' AND transaction_id = (
                SELECT min(transaction_id) FROM iap.cases WHERE state = 'open')
            """
        case .receiptSettled:
            """
            UPDATE iap.receipts
            SET state = 'settled', verified_at = now(), error_code = NULL, error_text = NULL, attempts = 0,
                next_attempt_at = NULL
            WHERE receipt_id = (SELECT min(receipt_id) FROM iap.receipts WHERE state IN ('waiting', 'unusable'))
            """
        case .receiptRemoved:
            "DELETE FROM iap.receipts WHERE receipt_id = (SELECT min(receipt_id) FROM iap.sightings)"
        case .entitlement: "UPDATE iap.entitlements SET entitled_until = 'infinity'"
        case .totals: "UPDATE iap.runs SET excluded[2] = excluded[2] + 1 WHERE run_id = 1"
        case .move:
            "UPDATE iap.moves SET from_units = from_units + 1 WHERE move_id = (SELECT min(move_id) FROM iap.moves)"
        case .moveRemoved: "DELETE FROM iap.moves WHERE move_id = (SELECT min(move_id) FROM iap.moves)"
        case .lastMoveAmount:
            "UPDATE iap.moves SET to_milliunits = 1 WHERE move_id = (SELECT max(move_id) FROM iap.moves)"
        case .lastMoveRemoved: "DELETE FROM iap.moves WHERE move_id = (SELECT max(move_id) FROM iap.moves)"
        case .booked: "UPDATE iap.books SET milliunits = milliunits + 1 WHERE milliunits IS NOT NULL"
        case .bookedBeyondReckoning: "UPDATE iap.books SET units = -9223372036854775808"
        // What is free, as if it had no price, and the other way around.
        case .bookedAsFree:
            """
            UPDATE iap.books SET milliunits = CASE WHEN milliunits IS NULL THEN 0 END
            WHERE transactions <> 0 AND (milliunits IS NULL OR milliunits = 0)
            """
        case .bookedLater: "UPDATE iap.books SET booked_on = booked_on + 1 WHERE account = 'delivered'"
        case .bookedTwice:
            """
            INSERT INTO iap.books
            SELECT
                run_id, booked_on + number, account, day, bundle_id, 'slipped in', currency, price_source, detail,
                100 - 200 * number, 0, 999000 - 1998000 * number
            FROM (SELECT * FROM iap.books WHERE account = 'owed' LIMIT 1) AS example
            CROSS JOIN generate_series(0, 1) AS number
            """
        case .closedLater: "UPDATE iap.runs SET closed_through = closed_through + 1"
        case .closedByNoBooks:
            """
            INSERT INTO iap.runs (
                as_of, started_at, finished_at, host, process_id, program_version, state, exit_code, reason,
                closed_through)
            VALUES (now(), now(), now(), 'h', 1, '1', 'failed', 70, 'it failed', current_date + 1000)
            """
        // As the tables' owner would who knows all the functions, and changes the journal with it.
        case .refundedShare:
            """
            WITH refunded AS (
                UPDATE iap.transactions AS t
                SET revocation_percentage = 50000, revocation_type = 'REFUND_PRORATED',
                    seal = audit.seal(jsonb_populate_record(t, '{"revocation_percentage": 50000}'))
                WHERE transaction_id = (
                    SELECT min(transaction_id) FROM iap.transactions WHERE reason = 'refunded' AND move_id IS NULL)
                RETURNING *
            ), changed AS (
                UPDATE iap.books
                SET milliunits = books.milliunits - refunded.booked_milliunits
                    + iap.share_of(refunded.booked_milliunits, 50000)
                FROM refunded
                WHERE books.account = 'excluded' AND books.detail = 'refunded'
                    AND books.bundle_id = refunded.bundle_id AND books.product_id = refunded.product_id
            )
            SELECT FROM refunded
            """
        case .event: "UPDATE iap.events SET actor = 'nobody' WHERE event_id = (SELECT min(event_id) FROM iap.events)"
        case .eventRemoved: "DELETE FROM iap.events WHERE event_id = (SELECT min(event_id) FROM iap.events)"
        case .lastEvent:
            "UPDATE iap.events SET actor = 'nobody' WHERE event_id = (SELECT max(event_id) FROM iap.events)"
        case .eventSlippedIn:
            """
            INSERT INTO iap.events
            SELECT (jsonb_populate_record(forged, jsonb_build_object('seal', audit.seal(forged)))).*
            FROM (SELECT events FROM iap.events LIMIT 1) AS example
            CROSS JOIN LATERAL jsonb_populate_record(
                events, '{"event_id": 0, "kind": "run_started", "actor": "nobody"}') AS forged
            """
        case .link: "UPDATE audit.links SET link = sha256('x') WHERE position = 1"
        case .lastLinksRemoved: "DELETE FROM audit.links"
        }
    }

    private static let waiting: SQL = "(SELECT min(receipt_id) FROM iap.receipts WHERE state IN ('waiting', 'watched'))"

    private static let claimed: SQL = "(SELECT min(transaction_id) FROM iap.claims WHERE outcome = 'delivered')"

    private static func first(_ table: String) -> SQL {
        """
        (SELECT min(transaction_id) FROM iap.\(identifier: table))
        """
    }

    /// One of the checks that must not hold afterwards.
    var found: IntegrityCheck {
        switch self {
        case .whiteAmount, .whiteProduct, .whiteMoved, .whiteBooked, .whiteAdmission, .whiteExpiry, .whiteCustomer:
            .transactionSeals
        case .whiteRemoved, .whiteAdded: .whiteTotals
        case .blackUser, .blackTime, .blackRefund: .transactionSeals
        case .blackRemoved: .deliveredClaims
        case .blackWhiteAgain: .latestMoves
        case .excludedReason: .transactionSeals
        case .excludedRemoved: .sightedTransactions
        case .claimUser: .claimSeals
        case .claimRemoved: .claimsOfDeliveries
        case .claimAdded: .deliveredClaims
        case .originalTaken: .deliveredOriginals
        case .orderGivenBack: .deliveredOrders
        case .sightingUser: .sightingSeals
        case .entitlement: .entitlementSeals
        case .orderUser: .orderSeals
        case .tokenUser: .tokenSeals
        case .waitingReceipt: .receiptSeals
        case .waitingPayload: .payloads
        case .receiptPutOff, .receiptPutOffForEver, .receiptTriedLater: .receiptsDue
        case .uploadOrder: .uploadSeals
        case .caseOpened: .openCases
        case .receiptSettled: .receiptsWithOutcome
        case .receiptRemoved: .sightedReceipts
        case .totals: .controlTotals
        case .move: .moveSeals
        case .moveRemoved, .lastMoveRemoved: .latestMoves
        case .lastMoveAmount: .moveSeals
        case .booked, .bookedBeyondReckoning, .bookedAsFree, .bookedLater, .bookedTwice, .closedLater,
            .closedByNoBooks:
            .journal
        case .refundedShare: .chain
        case .event, .lastEvent: .eventSeals
        case .eventRemoved, .eventSlippedIn, .link, .lastLinksRemoved: .chain
        }
    }
}

/// What always holds of the tables, and that a single row changed by hand is found.
@Suite struct IntegrityTests {
    /// One night, and a delivery by the support desk after it; then each change alone, rolled back by playing it on a copy.
    @Test func findsAnySingleRowThatWasChangedByHand() async throws {
        try await withStage(customers: 140) { stage in
            _ = try await stage.run()
            let server = try await stage.database.connect(as: "iap_app")
            _ = try await server.query("SELECT iap.register_order('com.example.game', 'order-1', 'ann', 'gems')")
            _ = try await server.query("SELECT iap.entitle('com.example.game', '1', 'ann', now())")
            _ = try await server.query(
                "SELECT iap.register_user('com.example.game', 'ann', '6b2f0c0e-5a1d-4f7e-9b63-0d9a4c1e2f30')")
            server.close()
            try await Self.resolveOne(stage.database)
            #expect(try await violations(stage.database) == [])
            for edit in Edit.allCases {
                let found = try await stage.database.withCopy { copy in
                    try await Self.editByHand(edit.sql, copy)
                    return try await findings(copy).filter { !$0.isFine }
                }
                let named = found.map(\.check)
                #expect(named.contains(edit.found), "\(edit.rawValue): \(named)")
                #expect(found.allSatisfy { !$0.examples.isEmpty })
            }
            for table in try await Self.sealedTables(stage.database) {
                let found = try await stage.database.withCopy { copy in
                    try await Self.editByHand(
                        """
                        UPDATE iap.\(identifier: table) SET seal = seal # 1
                        WHERE ctid = (SELECT min(ctid) FROM iap.\(identifier: table))
                        """, copy)
                    return try await violations(copy)
                }
                #expect(!found.isEmpty, "the seals of \(table)")
            }
        }
    }

    /// A delivery that moved, beside those that were black when they were first seen.
    private static func resolveOne(_ database: ScratchDatabase) async throws {
        let desk = try await database.connect(as: "iap_support")
        defer { desk.close() }
        let resolved = try await desk.query(
            """
            SELECT iap.resolve(
                transaction_id, 'delivered', 'sue', 'by hand', bundle_id, environment, order_id => 'order-1',
                is_unknown_user => true) AS outcome
            FROM iap.white
            ORDER BY transaction_id
            LIMIT 1
            """)
        #expect(try resolved.map { try $0.decode("outcome") } == ["delivered"])
    }

    private static func sealedTables(_ database: ScratchDatabase) async throws -> [String] {
        let connection = try await database.connect()
        defer { connection.close() }
        return try await connection.query(
            """
            SELECT relname::text AS name FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
            WHERE relnamespace = 'iap'::regnamespace AND relkind = 'r' AND attname = 'seal' AND NOT attisdropped
            ORDER BY relname
            """
        ).map { try $0.decode("name") }
    }

    @Test func goesOnFindingARowThatTheJobTouchedAfterwards() async throws {
        try await withStage(customers: 85) { stage in
            _ = try await stage.run()
            try await Self.editByHand(Edit.whiteProduct.sql, stage.database)
            _ = try await stage.run(RunOptions(now: Stage.now + 86_400))
            #expect(
                try await findings(stage.database).filter { !$0.isFine }.map(\.check) == [
                    .journal, .transactionSeals, .chain,
                ])
        }
    }

    /// A row that was put back by hand is worth what nothing in the log of moves explains.
    @Test func theNightStopsOverATransactionThatIsNotWhereItsMoveTookIt() async throws {
        try await withStage(customers: 85) { stage in
            try await Self.editByHand(
                """
                UPDATE iap.moves SET to_product_id = 'another' WHERE move_id = (SELECT max(move_id) FROM iap.moves)
                """, stage.database)
            await #expect {
                _ = try await stage.run(RunOptions(limit: 0, now: Stage.now + 60))
            } throws: { error in
                guard case .inconsistent(let text) = error as? JobError else { return false }
                return text.contains("where its latest move took it") && text.contains("iap-reconcile verify")
            }
        }
    }

    /// The end of the chain that a run's summary tells, kept outside, is continued by every later night, and by no trail
    /// that was written anew.
    @Test func continuesAnEndThatWasKept() async throws {
        try await withStage(customers: 85) { stage in
            let first = try #require(try await stage.run().report.trail)
            let second = try #require(try await stage.run(RunOptions(now: Stage.now + 86_400)).report.trail)
            let audit = IntegrityAudit(
                settings: JobSettings(database: stage.database.conninfo(as: "iap_job"), apps: []))
            for end in [first.end, second.end] { #expect(try await audit.verify(since: end) { _ in }.isContinued) }
            #expect(try await audit.verify { _ in }.trail == second)
            #expect(try await !audit.verify(since: String(repeating: "0", count: 64)) { _ in }.isContinued)
            // As the tables' owner would who knows all the functions.
            try await Self.editByHand(
                """
                UPDATE audit.links SET link = sha256(audit.first_link() || 'x') WHERE position = 1
                """, stage.database)
            #expect(try await !audit.verify(since: first.end) { _ in }.isContinued)
        }
    }

    /// A backup that is played back, as on another server: types and roles have other numbers there.
    @Test func holdsAfterARestore() async throws {
        try await withStage(customers: 140) { stage in
            _ = try await stage.run()
            let cluster = stage.database.cluster
            let file = "\(cluster.directory)/\(stage.database.name).dump"
            let dumped = try await cluster.run("pg_dump", ["-Fc", "-f", file, "-d", stage.database.conninfo])
            #expect(dumped.status == 0, "\(dumped.errors)")
            try await withScratchDatabase(empty: true) { copy in
                let restored = try await cluster.run("pg_restore", ["-e", "-d", copy.conninfo, file])
                #expect(restored.status == 0, "\(restored.errors)")
                #expect(try await findings(copy).filter { !$0.isFine }.map(\.description) == [])
            }
        }
    }

    /// As a superuser who knows how to keep triggers from noticing.
    private static func editByHand(_ sql: SQL, _ database: ScratchDatabase) async throws {
        let connection = try await database.connect()
        defer { connection.close() }
        try await connection.execute("SET session_replication_role = replica")
        let changed = try await connection.execute(sql)
        #expect(changed > 0)
    }
}
