import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// The way of a batch: from the inbox into the ledger, and what becomes of its receipts.
@Suite struct RecordingTests {
    private let began = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())

    @Test func theInboxGivesWhatIsDueByPayload() async throws {
        try await withLedger { ledger in
            let first = try await ledger.submit("one payload", user: "ann", for: "1")
            let second = try await ledger.submit("one payload", user: "bob")
            let session = try await ledger.session()
            defer { session.close() }
            let bucket = Int(first & 63)
            #expect(
                try await session.dueReceipts(at: began + 3600)
                    == [DueReceipts(bucket: bucket, isTroubled: false, count: 2)])
            #expect(try await session.dueReceipts(at: began - 86_400).isEmpty)
            let batch = try await session.nextBatch(buckets: [bucket], after: Data(), limit: 10, now: began + 3600)
            #expect(batch.isLast && batch.receiptCount == 2)
            let group = try #require(batch.groups.first)
            #expect(group.payload == "one payload" && group.receipts.map(\.id) == [first, second].sorted())
            let ann = try #require(group.receipts.first { $0.userID == "ann" })
            #expect(ann.purposes.contains(.init(transactionID: "1", orderID: nil)))
            let after = try await session.nextBatch(buckets: [bucket], after: batch.end, limit: 10, now: began + 3600)
            #expect(after.groups.isEmpty && after.isLast)
        }
    }

    @Test func whatIsNewEntersOnceAndWhatIsKnownIsConfirmed() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt", for: "1")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let sighting = try LedgerBench.sighting("1", receipt: receipt, at: began)
            let first = try await ledger.record([sighting], receipts: [receipt], run: run, at: began, session)
            #expect(first.newlyWhite.transactions == 1 && first.verified == first.newlyWhite)
            #expect(first.receipts.verified == 1 && first.locked.isEmpty && first.receiptsHeld == [])
            let later = began + 86_400
            let again = try LedgerBench.sighting("1", receipt: receipt, at: later)
            let second = try await ledger.record([again], receipts: [receipt], run: run, at: later, session)
            #expect(second.newlyWhite.transactions == 0 && second.alreadyWhite == first.newlyWhite)
            let nights: Int32 = try await ledger.value("(SELECT nights_confirmed FROM iap.white)")
            #expect(nights == 2)
            let counts = try await session.receiptCounts(of: run)
            #expect(counts.verified == 2)
            #expect(try await ledger.violations() == [])
        }
    }

    /// What the first batch of a session staged is taken back with it; the second stages all the same.
    @Test func aBatchThatFailsDoesNotSpoilTheNext() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt", for: "1")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let sighting = try LedgerBench.sighting("1", receipt: receipt, at: began)
            try await ledger.execute("ALTER TABLE iap.sightings ADD CONSTRAINT nothing_fits CHECK (false)")
            await #expect(throws: LedgerError.self) {
                _ = try await ledger.record([sighting], receipts: [receipt], run: run, at: began, session)
            }
            try await ledger.execute("ALTER TABLE iap.sightings DROP CONSTRAINT nothing_fits")
            let totals = try await ledger.record([sighting], receipts: [receipt], run: run, at: began, session)
            #expect(totals.newlyWhite.transactions == 1)
        }
    }

    @Test func aPoorerSourceNeverOverwritesABetterOne() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt", for: "1")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let best = try LedgerBench.sighting("1", receipt: receipt, source: .serverAPI, at: began) {
                $0.refundedAt = began - 60
            }
            _ = try await ledger.record([best], receipts: [receipt], run: run, at: began, session)
            for (number, source) in [Source.local, .verifyReceipt].enumerated() {
                let now = began + Double(number + 1) * 86_400
                let poorer = try LedgerBench.sighting("1", receipt: receipt, product: "other", source: source, at: now)
                let totals = try await ledger.record([poorer], receipts: [receipt], run: run, at: now, session)
                #expect(totals.excluded.transactions == 1, "\(source)")
            }
            let product: String = try await ledger.value("(SELECT product_id FROM iap.excluded)")
            #expect(product == "gems")
            // Apple's own word of the same rank, and later, takes the refund back.
            let now = began + 5 * 86_400
            let reversed = try LedgerBench.sighting("1", receipt: receipt, source: .serverAPI, at: now)
            let totals = try await ledger.record([reversed], receipts: [receipt], run: run, at: now, session)
            #expect(totals.newlyWhite.transactions == 1)
            #expect(try await ledger.violations() == [])
        }
    }

    @Test func whatAnotherSessionHoldsIsLeftOutAndNamed() async throws {
        try await withLedger { ledger in
            let receipts = [
                try await ledger.submit("a receipt", for: "1"), try await ledger.submit("a receipt", user: "bob"),
            ]
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let server = try await ledger.database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute("BEGIN")
            _ = try await server.query(
                """
                SELECT iap.admit(\(LedgerBench.bundleID), 'Production', '1', '1', 'gems', 1, '2026-01-01', 'ann')
                """)
            let sightings = [
                try LedgerBench.sighting("1", receipt: receipts[0], at: began),
                try LedgerBench.sighting("2", receipt: receipts[1], user: "bob", at: began),
            ]
            let totals = try await ledger.record(sightings, receipts: receipts, run: run, at: began, session)
            #expect(totals.locked.map(\.text) == ["1"] && totals.receiptsHeld.count == 1)
            #expect(totals.newlyWhite.transactions == 1 && totals.receipts.verified == 1)
            #expect(try await session.holdersOfRows().map(\.login) == ["iap_app"])
            #expect(
                try await session.dueReceipts(at: began + 3600)
                    == [DueReceipts(bucket: Int(receipts[0] & 63), isTroubled: false, count: 1)])
            try await server.execute("ROLLBACK")
            let rest = try await ledger.record([sightings[0]], receipts: [receipts[0]], run: run, at: began, session)
            #expect(rest.newlyWhite.transactions == 1 && rest.locked.isEmpty)
        }
    }

    /// A repair that hangs, or an index that somebody makes.
    @Test(arguments: [
        ("iap.transactions", "SHARE"), ("iap.sightings", "EXCLUSIVE"), ("audit.frontier", "ACCESS EXCLUSIVE"),
    ])
    func whoHoldsAWholeTableIsNamed(table: String, mode: String) async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let holder = try await ledger.database.connectLocking(table, in: mode)
            defer { holder.close() }
            #expect(try await session.holdersOfRows().count == 1)
            try await holder.execute("ROLLBACK")
            #expect(try await session.holdersOfRows().isEmpty)
        }
    }

    /// What met a trouble has its turn after all others, also within its own bucket.
    @Test func whatIsInTroubleComesLast() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            var tried: [TriedReceipt] = []
            for number in 1...20 {
                let receipt = try await ledger.submit("upload \(number)")
                tried.append(TriedReceipt(id: receipt, outcome: .tryAgain(.unreadableAnswer, "no JSON")))
            }
            _ = try await session.record(BatchRecord(runID: run, now: began, sightings: [], receipts: tried))
            let fresh = try await ledger.submit("upload of today")
            let (later, bucket) = (began + 3 * 86_400, Int(fresh & 63))
            let due = try await session.dueReceipts(at: later)
            #expect(due.first == DueReceipts(bucket: bucket, isTroubled: false, count: 1) && due.total == 21)
            #expect(due.filter { !$0.isTroubled }.count == 1)
            let first = try await session.nextBatch(buckets: Array(0..<64), after: Data(), limit: 50, now: later)
            #expect(first.groups.flatMap(\.receipts).map(\.id) == [fresh] && first.isLast)
            let rest = try await session.nextBatch(
                buckets: Array(0..<64), isTroubled: true, after: Data(), limit: 50, now: later)
            #expect(Set(rest.groups.flatMap(\.receipts).map(\.id)) == Set(tried.map(\.id)))
        }
    }

    @Test(arguments: [(20 * 24, true), (20, false)])
    func whatAWrongClockPutOffIsDueAllTheSame(hours: Int, isDue: Bool) async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt")
            try await ledger.execute(
                "UPDATE iap.receipts SET next_attempt_at = now() + \(Double(hours)) * interval '1 hour'")
            let session = try await ledger.session()
            defer { session.close() }
            #expect(try await session.dueReceipts(at: began + 3600).total == (isDue ? 1 : 0))
            let batch = try await session.nextBatch(
                buckets: [Int(receipt & 63)], after: Data(), limit: 10, now: began + 3600)
            #expect(batch.groups.flatMap(\.receipts).map(\.id) == (isDue ? [receipt] : []))
        }
    }

    @Test func whatWantedAppleIsDueAgainAtOnce() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let tried = TriedReceipt(id: receipt, outcome: .tryAgain(.appleUnreachable, "no answer"))
            _ = try await session.record(
                BatchRecord(runID: run, now: began, sightings: [], receipts: [tried]))
            #expect(try await session.dueReceipts(at: began + 3600).isEmpty)
            var notices: [TroubledReceipt] = []
            try await session.forEachUnverifiedReceipt(now: began) { notices.append($0) }
            #expect(notices.map(\.problem) == [.appleUnreachable] && notices.first?.attempts == 1)
            try await session.makeDueAgain([.appleUnreachable], triedAt: began)
            #expect(try await session.dueReceipts(at: began + 3600).count == 1)
            let attempts: Int32 = try await ledger.value("(SELECT attempts FROM iap.receipts)")
            #expect(attempts == 0)
        }
    }

    /// Nothing is written beside what no night comes to, and still somebody must hear of it.
    @Test func whatNoNightCameToIsListedAfterThreeOfThem() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt")
            // It came in today, however long ago it was uploaded elsewhere.
            try await ledger.execute("UPDATE iap.receipts SET submitted_at = now() - interval '90 days'")
            let session = try await ledger.session()
            defer { session.close() }
            for day in [-9.0, -8, -7] { _ = try await ledger.begin(at: began + day * 86_400, session) }
            // Noon of tomorrow, as nights are told apart by their days.
            let days = (began.timeIntervalSince1970 / 86_400).rounded(.up)
            let first = Date(timeIntervalSince1970: days * 86_400 + 43_200)
            for (hours, listed) in [(0.0, []), (1, []), (24, []), (25, []), (48, [receipt])] {
                let now = first + hours * 3600
                _ = try await ledger.begin(at: now, session)
                var notices: [TroubledReceipt] = []
                try await session.forEachUnverifiedReceipt(now: now) { notices.append($0) }
                #expect(notices.map(\.receiptID) == listed, "after \(hours) hours")
                #expect(notices.allSatisfy { $0.problem == .noTurn && $0.attempts == 0 })
            }
        }
    }

    @Test func whatCantBeUsedIsListedForThirtyDays() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("", for: "1")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let tried = TriedReceipt(id: receipt, outcome: .unusable(.empty, "it is empty"))
            _ = try await session.record(
                BatchRecord(runID: run, now: began, sightings: [], receipts: [tried]))
            for (now, count) in [(began, 1), (began + 31 * 86_400, 0)] {
                var notices: [TroubledReceipt] = []
                try await session.forEachUnusableReceipt(now: now) { notices.append($0) }
                #expect(notices.count == count)
            }
        }
    }

    @Test func aMendedSettingHasItsReceiptsAskedAgain() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt", for: "1")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            try await ledger.execute(
                """
                DO $$
                BEGIN
                    PERFORM iap.submit_receipt('com.example.a', 'ann', 'a receipt', '1');
                END
                $$
                """)
            let app = App(
                bundleID: try LedgerBench.app().bundleID, environment: .production, grace: Grace(3600),
                since: began - 60)
            var early = try LedgerBench.sighting("1", receipt: receipt, at: began)
            early = SightedTransaction(
                ScreenedTransaction(
                    subject: ScreeningSubject(
                        transaction: early.screened.transaction, environment: .production, foundBundleID: app.bundleID,
                        app: app, productType: nil, isOriginalKnown: false), source: .verifyReceipt, verifiedAt: began),
                receipt: InboxReceipt(
                    id: receipt, bundleID: LedgerBench.bundleID, userID: "ann", orderID: nil, purposes: [],
                    submittedAt: began))
            #expect(early.screened.exclusion == .beforeStart)
            _ = try await ledger.record([early], receipts: [receipt], run: run, at: began, session)
            #expect(try await session.reconsider([app], at: began) == nil)
            #expect(try await session.reconsider([try LedgerBench.app()], at: began) == 1)
            let owed = try LedgerBench.sighting("1", receipt: receipt, at: began + 3600)
            let totals = try await ledger.record([owed], receipts: [receipt], run: run, at: began + 60, session)
            #expect(totals.newlyWhite.transactions == 1)
            #expect(try await ledger.violations() == [])
        }
    }

    @Test func aRestoredPurchaseIsKnownByItsOriginal() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt", for: "2")
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let restored = try LedgerBench.sighting("2", receipt: receipt, at: began) {
                $0.originalID = TransactionID("1") ?? $0.originalID
            }
            _ = try await ledger.record([restored], receipts: [receipt], run: run, at: began, session)
            let original = KnownOriginals.Original(
                id: restored.screened.transaction.originalID, bundleID: restored.screened.key.bundleID,
                environment: .production)
            let known = try await session.known([original])
            #expect(known.isKnown(original, besides: try #require(TransactionID("3")), presented: []))
            #expect(!known.isKnown(original, besides: restored.screened.key.id, presented: []))
        }
    }

    @Test func aDryRunLeavesTheTablesAsTheyAre() async throws {
        try await withLedger { ledger in
            let receipt = try await ledger.submit("a receipt", for: "1")
            // Years of deliveries behind it, of which the last came after the books were closed.
            for id in ["8", "9"] {
                for call: SQL in [
                    "iap.admit('com.example.a', 'Production', \(id), \(id), 'gems', 1, '2026-01-01', 'ann')",
                    "iap.claim('com.example.a', \(id), 'ann')",
                ] { let _: String = try await ledger.value(call) }
                guard id == "8" else { continue }
                let session = try await ledger.session()
                _ = try await session.closeBooks(of: try await ledger.begin(at: began, session))
                session.close()
            }
            let session = try await ledger.session()
            defer { session.close() }
            try await session.shadowTables()
            let run = try await ledger.begin(at: began, session)
            let sighting = try LedgerBench.sighting("1", receipt: receipt, at: began)
            let totals = try await ledger.record([sighting], receipts: [receipt], run: run, at: began, session)
            #expect(totals.newlyWhite.transactions == 1)
            let books = try await session.closeBooks(of: run)
            #expect(books.imbalances == [] && books.closingWhite.transactions == 1 && books.claimed.transactions == 1)
            try await session.checkNight()
            let white: Int = try await ledger.value("(SELECT count(*) FROM iap.white)")
            #expect(white == 0)
        }
    }

    /// The claim comes between two nights, and is open while the second asks: what is only confirmed is not waited for,
    /// and a claim that is committed then is no night more.
    @Test func aClaimThatIsOpenWhileItIsConfirmedIsLeftAlone() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: began, session)
            let receipt = try await ledger.submit("receipt")
            let nights = try (0..<3).map { night in
                try ["1", "2"].map {
                    try LedgerBench.sighting($0, receipt: receipt, at: began + Double(night) * 86400) {
                        $0.purchasedAt = began - 7200
                    }
                }
            }
            _ = try await ledger.record(nights[0], receipts: [receipt], run: run, at: began, session)
            let claiming = try await ledger.database.connect()
            defer { claiming.close() }
            try await claiming.execute("BEGIN")
            _ = try await claiming.query("SELECT iap.claim(\(LedgerBench.bundleID), '1', 'ann')")
            let second = try await ledger.record(
                nights[1], receipts: [receipt], run: run, at: began + 86400, session)
            #expect(second.locked.map(\.text) == ["1"] && second.alreadyWhite.transactions == 1)
            try await claiming.execute("COMMIT")
            let third = try await ledger.record(
                nights[2], receipts: [receipt], run: run, at: began + 2 * 86400, session)
            #expect(third.alreadyBlack.transactions == 1 && third.alreadyWhite.transactions == 1)
            let confirmed: String = try await ledger.value(
                """
                (SELECT string_agg(transaction_id || ' ' || place || ' ' || nights_confirmed, ', ' ORDER BY 1)
                FROM iap.transactions)
                """)
            #expect(confirmed == "1 black 1, 2 white 3")
            #expect(try await ledger.violations() == [])
        }
    }

    /// What somebody cleans, or looks at without an end, the night does not wait for.
    @Test func statisticsAreNotWaitedFor() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            try await ledger.execute(
                """
                INSERT INTO iap.sightings (
                    transaction_id, bundle_id, environment, bucket, receipt_id, user_id, is_named, uploaded_at)
                SELECT number::text, 'com.example.a', 'Production', 0, number * 64, 'ann', false, now()
                FROM generate_series(1, 20000) AS number
                """)
            let known: SQL = "(SELECT reltuples::bigint FROM pg_class WHERE oid = 'iap.sightings'::regclass)"
            let cleaning = try await ledger.database.connectLocking("iap.sightings", in: "SHARE UPDATE EXCLUSIVE")
            defer { cleaning.close() }
            try await session.analyzeGrown()
            #expect(try await ledger.value(known, as: Int64.self) < 20000)
            try await cleaning.execute("COMMIT")
            try await session.analyzeGrown()
            #expect(try await ledger.value(known, as: Int64.self) == 20000)
        }
    }
}
