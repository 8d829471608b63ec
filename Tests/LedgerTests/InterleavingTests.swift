import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// Random interleavings of every transition, from several sessions at all three isolation levels. Whoever wins, the
/// ledger holds together, its totals balance, and nothing is delivered twice.
@Suite struct InterleavingTests {
    private static let purchases = 24
    private static let sessions = 8
    private static let steps = 40

    private static let levels: [SQL] = [
        "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN ISOLATION LEVEL SERIALIZABLE",
    ]

    @Test(arguments: [1, 2, 3])
    func theLedgerHoldsTogetherWhateverComesBetween(seed: UInt64) async throws {
        try await withLedger { ledger in
            let began = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
            try await ledger.execute(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
                VALUES
                    (\(LedgerBench.bundleID), 'gems', 'consumable', 'Gems', 990, 'USD'),
                    (\(LedgerBench.bundleID), 'full', 'non_consumable', 'Full', 4990, 'USD')
                """)
            var receipts: [Int64] = []
            for number in 0..<Self.purchases {
                receipts.append(try await ledger.submit("receipt \(number)", user: nil, for: Self.id(number)))
            }
            try await withThrowingTaskGroup(of: Void.self) { [receipts] group in
                for session in 0..<Self.sessions {
                    group.addTask {
                        var random = SeededNumbers(state: seed &* 1000 &+ UInt64(session))
                        switch session {
                        case 0, 1: try await Self.playJob(ledger, receipts, began, &random)
                        case 2: try await Self.playSupport(ledger, &random)
                        case 3: try await Self.closeBooks(ledger, began, &random)
                        default: try await Self.playServer(ledger, &random)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.closeOnce(ledger, at: began + 1000))
            let wrong = try await ledger.violations()
            #expect(wrong == [])
            let twice: Int = try await ledger.value(
                """
                (SELECT count(*) FROM (
                    SELECT FROM iap.claims WHERE outcome = 'delivered'
                    GROUP BY transaction_id, bundle_id HAVING count(*) > 1) AS twice)
                """)
            #expect(twice == 0)
            let restored: Int = try await ledger.value(
                """
                (SELECT count(*) FROM (
                    SELECT FROM iap.black WHERE product_id = 'full'
                    GROUP BY original_transaction_id HAVING count(*) > 1) AS twice)
                """)
            #expect(restored == 0)
        }
    }

    private static func id(_ number: Int) -> String { String(1_000_000 + number) }

    /// The last third are non-consumables of two originals.
    private static func product(_ number: Int) -> (product: String, original: String) {
        number < purchases * 2 / 3 ? ("gems", id(number)) : ("full", id(purchases * 2 / 3 + number % 2))
    }

    /// What a transaction that another session was faster than may end with.
    private static func expectPassing(_ error: any Error, _ what: String) {
        let state = (error as? PostgreSQLError)?.sqlState?.rawValue ?? ""
        let isExcluded = state == "55000"
        #expect(state.hasPrefix("40") || isExcluded, "\(what): \(error)")
    }

    private static func playServer(_ ledger: LedgerBench, _ random: inout SeededNumbers) async throws {
        let connection = try await ledger.database.connect(as: "iap_app")
        defer { connection.close() }
        for _ in 0..<steps {
            let begin = levels[Int.random(in: 0..<levels.count, using: &random)]
            try await connection.execute(begin)
            do {
                for _ in 0...Int.random(in: 0...2, using: &random) {
                    let number = Int.random(in: 0..<purchases, using: &random)
                    let (product, original) = product(number)
                    if Bool.random(using: &random) {
                        _ = try await connection.query(
                            """
                            SELECT iap.admit(
                                \(LedgerBench.bundleID), 'Production', \(id(number)), \(original), \(product), 1,
                                '2026-01-01', 'ann')
                            """)
                    } else {
                        _ = try await connection.query(
                            "SELECT iap.claim(\(LedgerBench.bundleID), \(id(number)), 'ann')")
                    }
                }
                try await connection.execute(Int.random(in: 0..<4, using: &random) == 0 ? "ROLLBACK" : "COMMIT")
            } catch {
                expectPassing(error, "the server's")
                try await connection.execute("ROLLBACK")
            }
        }
    }

    private static func playSupport(_ ledger: LedgerBench, _ random: inout SeededNumbers) async throws {
        let connection = try await ledger.database.connect(as: "iap_support")
        defer { connection.close() }
        for _ in 0..<steps {
            let id = id(Int.random(in: 0..<purchases, using: &random))
            let how = ["delivered", "dismissed", "refunded"][Int.random(in: 0..<3, using: &random)]
            try await connection.execute(levels[Int.random(in: 0..<levels.count, using: &random)])
            do {
                _ = try await connection.query(
                    Bool.random(using: &random)
                        ? "SELECT iap.resolve(\(id), \(how), 'sue', 'a ticket')"
                        : "SELECT iap.reopen(\(id), 'sue', 'a mistake')")
                try await connection.execute("COMMIT")
            } catch {
                expectPassing(error, "support's")
                try await connection.execute("ROLLBACK")
            }
        }
    }

    private static func playJob(
        _ ledger: LedgerBench, _ receipts: [Int64], _ began: Date, _ random: inout SeededNumbers
    ) async throws {
        let session = try await ledger.session()
        defer { session.close() }
        let run = try await ledger.begin(at: began, session)
        for step in 0..<steps {
            let now = began + Double(step)
            let number = Int.random(in: 0..<purchases, using: &random)
            let (product, original) = product(number)
            let isRefunded = Int.random(in: 0..<3, using: &random) == 0
            let sighting = try LedgerBench.sighting(
                id(number), receipt: receipts[number], user: nil, product: product,
                source: Bool.random(using: &random) ? .verifyReceipt : .serverAPI, at: now
            ) {
                $0.originalID = TransactionID(original) ?? $0.originalID
                if isRefunded { $0.refundedAt = now }
            }
            do {
                _ = try await ledger.record([sighting], receipts: [receipts[number]], run: run, at: now, session)
            } catch LedgerError.conflict {
                continue
            }
        }
    }

    private static func closeBooks(
        _ ledger: LedgerBench, _ began: Date, _ random: inout SeededNumbers
    ) async throws {
        for step in 0..<10 { _ = try await closeOnce(ledger, at: began + Double(step)) }
    }

    /// Whether the books could be closed; the totals of each closing balance, or it throws.
    private static func closeOnce(_ ledger: LedgerBench, at now: Date) async throws -> Bool {
        let session = try await ledger.session()
        defer { session.close() }
        let run = try await ledger.begin(at: now, session)
        do {
            #expect(try await session.closeBooks(of: run).imbalances == [])
            try await session.end(run, as: .complete, at: now)
            return true
        } catch LedgerError.conflict {
            try await session.end(run, as: .failed(.tryLater, "a lock"), at: now)
            return false
        }
    }
}
