import AppStoreSimulator
import Foundation
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
    case whiteAmount, whiteProduct, whiteMoved, whiteRemoved, whiteAdded
    case blackUser, blackTime, blackRefund, blackRemoved, blackWithWhite
    case excludedReason, excludedRemoved
    case claimUser, claimRemoved, claimedTwice
    case caseOpened, receiptSettled
    case totals, movement, movementRemoved
    case event, eventRemoved, lastEventRemoved, eventSlippedIn, seal, lastSealsRemoved

    var sql: SQL {
        switch self {
        case .whiteAmount: "UPDATE iap.white SET quantity = quantity + 1 WHERE transaction_id = \(Self.first("white"))"
        case .whiteProduct: "UPDATE iap.white SET product_id = 'dear' WHERE transaction_id = \(Self.first("white"))"
        case .whiteMoved:
            "UPDATE iap.white SET purchased_at = purchased_at - interval '1 day' WHERE transaction_id = \(Self.first("white"))"
        case .whiteRemoved: "DELETE FROM iap.white WHERE transaction_id = \(Self.first("white"))"
        case .whiteAdded:
            """
            INSERT INTO iap.white SELECT (jsonb_populate_record(white, '{"transaction_id": "1"}')).* FROM iap.white
            WHERE transaction_id = \(Self.first("white"))
            """
        case .blackUser: "UPDATE iap.black SET user_id = 'thief' WHERE transaction_id = \(Self.first("black"))"
        case .blackTime: "UPDATE iap.black SET delivered_at = now() WHERE transaction_id = \(Self.first("black"))"
        case .blackRefund: "UPDATE iap.black SET refunded_at = now() WHERE transaction_id = \(Self.first("black"))"
        case .blackRemoved: "DELETE FROM iap.black WHERE transaction_id = \(Self.first("black"))"
        case .blackWithWhite:
            """
            INSERT INTO iap.white SELECT (jsonb_populate_record(white, to_jsonb(black))).*
            FROM iap.white, iap.black
            WHERE white.transaction_id = \(Self.first("white")) AND black.transaction_id = \(Self.first("black"))
            """
        case .excludedReason:
            "UPDATE iap.excluded SET reason = 'upgraded' WHERE transaction_id = \(Self.first("excluded"))"
        case .excludedRemoved: "DELETE FROM iap.excluded WHERE transaction_id = \(Self.first("excluded"))"
        case .claimUser: "UPDATE iap.claims SET user_id = 'thief' WHERE transaction_id = \(Self.first("black"))"
        case .claimRemoved: "DELETE FROM iap.claims WHERE transaction_id = \(Self.first("black"))"
        case .claimedTwice:
            """
            INSERT INTO iap.claims (transaction_id, bundle_id, user_id, outcome, seal)
            SELECT transaction_id, bundle_id, user_id, outcome, seal FROM iap.claims
            WHERE transaction_id = \(Self.first("black")) AND outcome = 'delivered'
            """
        case .caseOpened:
            """
            UPDATE iap.cases SET transaction_id = '1' WHERE state = 'open' AND transaction_id = (
                SELECT min(transaction_id) FROM iap.cases WHERE state = 'open')
            """
        case .receiptSettled:
            """
            UPDATE iap.receipts
            SET state = 'settled', verified_at = now(), error_code = NULL, error_text = NULL, attempts = 0
            WHERE receipt_id = (SELECT min(receipt_id) FROM iap.receipts WHERE state = 'unusable')
            """
        case .totals: "UPDATE iap.runs SET excluded[2] = excluded[2] + 1 WHERE run_id = 1"
        case .movement:
            "UPDATE iap.movements SET units = units + 1 WHERE movement_id = (SELECT min(movement_id) FROM iap.movements)"
        case .movementRemoved:
            "DELETE FROM iap.movements WHERE movement_id = (SELECT max(movement_id) FROM iap.movements)"
        case .event:
            "UPDATE iap.events SET actor = 'nobody' WHERE event_id = (SELECT min(event_id) + 5 FROM iap.events)"
        case .eventRemoved: "DELETE FROM iap.events WHERE event_id = (SELECT min(event_id) + 5 FROM iap.events)"
        case .lastEventRemoved: "DELETE FROM iap.events WHERE event_id = (SELECT max(event_id) FROM audit.seals)"
        case .eventSlippedIn:
            """
            WITH old AS (UPDATE audit.sealings SET sealed_at = sealed_at - interval '1 day')
            INSERT INTO iap.events (event_id, kind, actor) OVERRIDING SYSTEM VALUE
            SELECT min(event_id) - 1, 'claimed', 'nobody' FROM iap.events
            """
        case .seal: "UPDATE audit.seals SET digest = sha256('x') WHERE position = 5"
        case .lastSealsRemoved:
            """
            WITH gone AS (DELETE FROM audit.seals WHERE position > 10 RETURNING event_id)
            DELETE FROM iap.events USING gone WHERE events.event_id = gone.event_id
            """
        }
    }

    private static func first(_ table: String) -> SQL {
        """
        (SELECT min(transaction_id) FROM iap.\(identifier: table))
        """
    }

    /// One of the checks that must not hold afterwards.
    var found: IntegrityCheck {
        switch self {
        case .whiteAmount, .whiteProduct, .whiteMoved: .whiteSeals
        case .whiteRemoved, .whiteAdded: .whiteTotals
        case .blackUser, .blackTime, .blackRefund: .blackSeals
        case .blackRemoved: .deliveredClaims
        case .blackWithWhite: .whiteAndBlack
        case .excludedReason: .excludedSeals
        case .excludedRemoved: .sightedTransactions
        case .claimUser: .claimSeals
        case .claimRemoved: .claimsOfDeliveries
        case .claimedTwice: .deliveredClaims
        case .caseOpened: .openCases
        case .receiptSettled: .receiptsWithOutcome
        case .totals: .controlTotals
        case .movement, .movementRemoved: .movements
        case .event, .eventRemoved, .lastEventRemoved: .events
        case .eventSlippedIn: .eventsInOrder
        case .seal, .lastSealsRemoved: .chain
        }
    }
}

/// What always holds of the tables, and that a single row changed by hand is found.
@Suite struct IntegrityTests {
    /// One night and one claim after it; then each change alone, rolled back by playing it on a copy.
    @Test func findsAnySingleRowThatWasChangedByHand() async throws {
        try await withStage(customers: 1000) { stage in
            _ = try await stage.run()
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
        }
    }

    @Test func goesOnFindingARowThatTheJobTouchedAfterwards() async throws {
        try await withStage(customers: 60) { stage in
            _ = try await stage.run()
            try await Self.editByHand(Edit.whiteProduct.sql, stage.database)
            _ = try await stage.run(RunOptions(now: Stage.now + 86_400))
            #expect(try await findings(stage.database).filter { !$0.isFine }.map(\.check) == [.whiteSeals])
        }
    }

    @Test func theNightStopsOverATransactionThatIsBothWhiteAndBlack() async throws {
        try await withStage(customers: 60) { stage in
            _ = try await stage.run()
            try await Self.editByHand(Edit.blackWithWhite.sql, stage.database)
            try await Self.editByHand(
                """
                INSERT INTO iap.movements (kind, transactions, units, hash)
                SELECT 'new', 1, quantity, hashtextextended(transaction_id, 0)
                FROM iap.white JOIN iap.black USING (transaction_id, bundle_id, environment, quantity)
                """, stage.database)
            await #expect {
                _ = try await stage.run(RunOptions(limit: 0, now: Stage.now + 60))
            } throws: { error in
                guard case .inconsistent(let text) = error as? JobError else { return false }
                return text.contains("both white and black") && text.contains("iap-reconcile verify")
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
