import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// What a run does once the inbox is done: cases, books, the chain, its own row, and what a report reads.
@Suite struct NightEndTests {
    private let began = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())

    /// A night that found so many lost orders.
    private func withCases(
        _ count: Int, _ body: (LedgerBench, LedgerSession, Int64, [AssessedCase]) async throws -> Void
    ) async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            for number in 0..<count {
                let receipt = try await ledger.submit("receipt \(number)", for: "10\(number)")
                let sighting = try LedgerBench.sighting("10\(number)", receipt: receipt, at: began)
                _ = try await ledger.record([sighting], receipts: [receipt], run: run, at: began, session)
            }
            var cases: [AssessedCase] = []
            let apps = [try LedgerBench.app()]
            let expected = apps.flatMap { $0.expectedDeliveries(Connections()) }
            try await session.forEachPageOfFacts(
                of: apps, expecting: expected, toldUpTo: began, now: began, isKeptAside: true
            ) { page in
                cases += page.map { AssessedCase(key: $0.key, assessment: Assessment(of: $0) { _ in false }) }
            }
            try await body(ledger, session, run, cases)
        }
    }

    /// As after a move by logical replication, which copies rows and no sequence.
    @Test(arguments: [
        "iap.trail", "iap.receipt_number", "iap.runs_run_id_seq", "iap.sales_reports_report_id_seq",
    ])
    func aSequenceThatDidNotComeAlongIsMissed(_ name: String) async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            try await session.checkSequences()
            _ = try await ledger.submit("receipt", for: "1")
            let _: String = try await ledger.value(
                "iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, '2026-01-01', 'ann')")
            _ = try await session.closeBooks(of: try await ledger.begin(at: Date(), session))
            try await ledger.execute(
                """
                INSERT INTO iap.sales_reports (day, developer, bundle_ids, file, lines, refused)
                VALUES ('2026-01-01', 'dev', '{}', 'f', 1, 0)
                """)
            try await session.checkSequences()
            try await ledger.execute(SQL(unsafe: "ALTER SEQUENCE \(name) RESTART"))
            await #expect {
                try await session.checkSequences()
            } throws: { error in
                guard case .schema(let text) = error as? LedgerError else { return false }
                return text.contains("(\(name) stands at 0, and ")
            }
        }
    }

    @Test func casesAreStoredOnceAndLeaveWithTheirTransaction() async throws {
        try await withCases(3) { ledger, session, run, cases in
            #expect(cases.count == 3)
            let expected = try LedgerBench.app().expectedDeliveries(Connections())
            #expect(try await session.pendingCount(expected, toldUpTo: began) == 0)
            #expect(try await session.pendingCount(expected, toldUpTo: began - 7000) == 3)
            #expect(try await session.store(cases, runID: run, now: began).isEmpty)
            #expect(try await session.store(cases, runID: run, now: began + 60).isEmpty)
            let opened: Int = try await ledger.value("(SELECT count(*) FROM iap.events WHERE kind = 'case_opened')")
            #expect(opened == 3)
            var counts = try await session.caseCounts(runID: run)
            #expect(counts.total == 3 && counts.new == 3)
            var reported: [String] = []
            try await session.reading {
                try await session.forEachCase(runID: run, now: Date()) { reported.append($0.key.id.text) }
            }
            #expect(reported.sorted() == ["100", "101", "102"])
            let told: String = try await ledger.value("iap.claim('com.example.a', '101', 'ann')")
            #expect(told == "delivered")
            // What was delivered since it was assessed is no case again.
            #expect(try await session.store(cases, runID: run, now: began + 120).isEmpty)
            counts = try await session.caseCounts(runID: run)
            #expect(counts.total == 2)
            #expect(try await ledger.violations() == [])
        }
    }

    @Test func whatIsBeingClaimedIsLeftOutOfTheSweep() async throws {
        try await withCases(2) { ledger, session, run, cases in
            let server = try await ledger.database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute("BEGIN")
            _ = try await server.query("SELECT iap.claim('com.example.a', '100', 'ann')")
            #expect(try await session.store(cases, runID: run, now: began).map(\.text) == ["100"])
            #expect(try await session.caseCounts(runID: run).total == 1)
            try await server.execute("COMMIT")
            #expect(try await session.store(cases, runID: run, now: began).isEmpty)
            #expect(try await session.caseCounts(runID: run).total == 1)
        }
    }

    @Test func eachRunOpensWithWhatTheOneBeforeClosedWith() async throws {
        try await withCases(4) { ledger, session, run, _ in
            let first = try await session.closeBooks(of: run)
            #expect(first.imbalances == [] && first.new.transactions == 4 && first.closingWhite.transactions == 4)
            #expect(try await session.closeBooks(of: run) == first)
            // A claim that is open while the books close counts with the next.
            let server = try await ledger.database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute("BEGIN")
            _ = try await server.query("SELECT iap.claim('com.example.a', '100', 'ann')")
            for (id, how) in [("101", "delivered"), ("102", "refunded")] {
                let _: String = try await ledger.value("iap.resolve(\(id), \(how), 'sue', 'a ticket')")
            }
            let second = try await session.closeBooks(of: try await ledger.begin(at: began + 60, session))
            #expect(second.openingWhite == first.closingWhite && second.claimed.transactions == 0)
            #expect(second.resolved.transactions == 1 && second.refunded.transactions == 1)
            try await server.execute("COMMIT")
            let third = try await session.closeBooks(of: try await ledger.begin(at: began + 120, session))
            #expect(third.claimed.transactions == 1 && third.closingWhite.transactions == 1)
            #expect(third.imbalances == [])
            let late: Int = try await ledger.value("(SELECT count(*) FROM audit.links WHERE late <> '{}')")
            #expect(late == 1)
            try await session.checkNight()
            let trail = try await session.auditTrail()
            #expect(trail.end.count == 64 && trail.entries > 4)
            #expect(try await session.verify(since: trail.end) { _ in }.isContinued)
            #expect(try await ledger.violations() == [])
        }
    }

    /// A dump carries the frontier along, and another server counts its transactions anew.
    @Test func theBooksGoOnAfterARestore() async throws {
        try await withCases(1) { ledger, session, run, _ in
            _ = try await session.closeBooks(of: run)
            try await ledger.execute("UPDATE audit.frontier SET horizon = '9000000000000'")
            let _: String = try await ledger.value("iap.claim('com.example.a', '100', 'ann')")
            let second = try await session.closeBooks(of: try await ledger.begin(at: began + 60, session))
            #expect(second.claimed.transactions == 1 && second.imbalances == [])
            #expect(try await ledger.violations() == [])
        }
    }

    @Test func aRunsRowSaysHowItEndedAndWhatItsReportSaid() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            #expect(try await session.latestRun() == nil)
            _ = try await session.closeBooks(of: run)
            var head = RunReport(
                runID: run, startedAt: began, finishedAt: began, now: began, timeZone: .gmt,
                outcome: .endedEarly("a lock"), receipts: ReceiptCounts(), totals: ControlTotals())
            head.cases = CaseCounts(byLikelihood: [.high: 2], new: 1)
            head.pending = 7
            head.stages = [StageTime(name: "record", seconds: 1, items: 3)]
            head.heard = NoticeTotals(fresh: 4, unknown: 1)
            head.asked = AskingTotals(asked: 3, unknown: 2, unanswered: 1)
            head.purged = Purged(payloads: 1, devices: 2, orders: 3, notices: 4)
            head.leftOut = LeftOut(
                transactions: [try #require(TransactionID("1"))], receipts: 2, buckets: [5],
                holders: [LockHolder(processID: 7, login: "ann", since: began, isJob: true, prepared: "p")])
            try await session.keep(head, of: run)
            try await session.end(run, as: .endedEarly(.tryLater, "a lock"), at: began + 60)
            try await session.end(run, as: .complete, at: began + 90)
            let kept = try #require(try await session.latestRun())
            #expect(kept.runID == run && kept.reason == "a lock" && kept.pending == 7)
            #expect(kept.cases.total == 2 && kept.stages.map(\.name) == ["record"])
            #expect(kept.heard == head.heard && kept.asked == head.asked && kept.purged == head.purged)
            #expect(kept.leftOut == head.leftOut && kept.told == head.outcome)
            #expect(try await session.history(upTo: run).map(\.cases) == [2])
            let dead = try await ledger.begin(at: began + 120, session)
            #expect(try await session.abandonDeadRuns(at: began + 180) == [dead])
            #expect(try await ledger.violations() == [])
        }
    }

    @Test func manyUsersOfOneTransactionAreSuspicious() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            for user in ["a", "b", "c"] {
                let receipt = try await ledger.submit("one payload", user: user, for: "1")
                let sighting = try LedgerBench.sighting("1", receipt: receipt, user: user, at: began)
                _ = try await ledger.record([sighting], receipts: [receipt], run: run, at: began, session)
            }
            var found: [Suspicion] = []
            try await session.forEachSuspicion(of: [try LedgerBench.app()], now: began) { found.append($0) }
            #expect(found.map(\.kind) == [.manyUsers] && found.first?.userIDs == ["a", "b", "c"])
        }
    }

    @Test func whatIsOldAndSettledIsPurged() async throws {
        try await withCases(1) { ledger, session, run, _ in
            let retention = Retention(payloads: 60, devices: 60)
            let later = began + 3600
            #expect(try await session.countPurgeable(retention, now: later).total == 0)
            let _: String = try await ledger.value("iap.claim('com.example.a', '100', 'ann')")
            // Asked once more, nothing is open on it.
            let receipt: Int64 = try await ledger.value("(SELECT receipt_id FROM iap.receipts)")
            let again = try LedgerBench.sighting("100", receipt: receipt, at: began + 60)
            _ = try await ledger.record([again], receipts: [receipt], run: run, at: began + 60, session)
            #expect(try await session.countPurgeable(retention, now: later).payloads == 1)
            let purged = try await session.purge(retention, bucket: Int(receipt & 63), most: 10, now: later)
            #expect(purged == Purged(payloads: 1, devices: 0))
            try await session.notePurge(purged, runID: run, now: later)
            #expect(try await ledger.violations() == [])
        }
    }

    @Test func whatTheAppsSellIsKnownByType() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session(as: "iap_import")
            defer { session.close() }
            let (app, product) = (try LedgerBench.app().bundleID, try #require(ProductID("gems")))
            let line = ImportLine(
                number: 1,
                row: .product(
                    ImportedProduct(
                        bundleID: app, product: Product(id: product, type: .consumable, name: "Gems", listPrice: nil))),
                name: "gems")
            try await session.prepareImport(of: .products)
            let batch = ImportBatch(kind: .products, lines: [line])
            #expect(try await session.take(batch, isRehearsal: true).taken == 1)
            let job = try await ledger.session()
            defer { job.close() }
            #expect(try await job.catalogue().type(of: product, in: app) == nil)
            #expect(try await session.take(batch, isRehearsal: false).taken == 1)
            try await session.noteImport(of: .products, file: "products.csv", taken: 1, refused: 0)
            #expect(try await job.catalogue().type(of: product, in: app) == .consumable)
            #expect(try await ledger.violations() == [])
        }
    }
}
