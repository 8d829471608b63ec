import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// The same payload is handed in for another purchase while a night has it in hand, as an app's AppTransaction is with
/// each purchase: what the night did not look for is looked for by the next.
@Suite struct ConcurrentUploadsTests {
    private let began = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())

    @Test(arguments: [(nil, "settled"), ("1", "settled"), ("2", "watched")])
    func whatIsHandedInAfterItWasFetchedIsDue(later: String?, state: String) async throws {
        try await withLedger { ledger in
            let id = try await ledger.submit("an app", for: "1")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let batch = try await session.nextBatch(
                buckets: [Int(id & 63)], after: Data(), limit: 10, now: began + 60)
            let fetched = try #require(batch.groups.flatMap(\.receipts).first)
            if let later { _ = try await ledger.submit("an app", for: later) }
            _ = try await session.record(
                BatchRecord(
                    runID: run, now: began + 60, sightings: [],
                    receipts: [TriedReceipt(id: id, outcome: .verified, uploadedAgainAt: fetched.uploadedAgainAt)]))
            #expect(try await ledger.value("(SELECT state FROM iap.receipts)", as: String.self) == state)
            let due = try await session.dueReceipts(at: began + 86_400).total
            #expect(due == (state == "watched" ? 1 : 0))
        }
    }

    /// Apple refused it, for the purchase that it was first handed in for.
    @Test func soIsWhatCouldNotBeUsed() async throws {
        try await withLedger { ledger in
            let id = try await ledger.submit("an app", for: "1")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            _ = try await ledger.submit("an app", for: "2")
            _ = try await session.record(
                BatchRecord(
                    runID: run, now: began + 60, sightings: [],
                    receipts: [TriedReceipt(id: id, outcome: .unusable(.empty, "it holds nothing"))]))
            #expect(try await ledger.value("(SELECT state FROM iap.receipts)", as: String.self) == "waiting")
        }
    }

    /// Whoever hands it in while the night writes its state waits for that, and reads what it says.
    @Test(arguments: [(nil, "settled"), ("empty", "unusable")])
    func whatIsHandedInWhileItIsSettledIsDue(problem: String?, state: String) async throws {
        try await withScratchDatabase { database in
            let (night, reader) = (try await database.connect(), try await database.connect())
            defer {
                night.close()
                reader.close()
            }
            try await submit("1", database)
            try await night.execute("BEGIN")
            try await night.execute(
                """
                UPDATE iap.receipts
                SET state = \(state), next_attempt_at = NULL, last_attempt_at = now(), verified_at = now(),
                    error_code = \(problem.map { _ in "malformed" }), error_text = \(problem)
                """)
            async let submitted: Void = submit("2", database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await night.execute("COMMIT")
            try await submitted
            let row = try #require(
                try await reader.query("SELECT state, next_attempt_at IS NOT NULL AS is_due FROM iap.receipts").first)
            #expect(try row.decode("state", as: String.self) == "watched")
            #expect(try row.decode("is_due", as: Bool.self))
        }
    }

    private func submit(_ transactionID: String, _ database: ScratchDatabase) async throws {
        let server = try await database.connect(as: "iap_app")
        defer { server.close() }
        _ = try await server.query("SELECT iap.submit_receipt('com.example.a', 'ann', 'an app', \(transactionID))")
    }
}
