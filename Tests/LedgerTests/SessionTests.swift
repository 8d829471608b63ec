import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

@testable import Ledger

/// Sessions, their locks and rights; and what the support desk asks and decides.
@Suite struct SessionTests {
    @Test func aLockIsOneSessionsUntilItEnds() async throws {
        try await withLedger { ledger in
            let (one, other) = (try await ledger.session(), try await ledger.session())
            defer { other.close() }
            #expect(try await one.tryLock(buckets: [7, 8]) == [7, 8])
            #expect(try await other.tryLock(buckets: [6, 7, 8, 9]) == [6, 9])
            let holders = try await other.holders(of: .bucket(7))
            #expect(holders.count == 1 && holders.first?.isJob == true && holders.first?.since != nil)
            #expect(try await other.tryLock(.night(isShared: true)))
            #expect(try await one.tryLock(.night(isShared: true)))
            #expect(try await !one.tryLock(.night(isShared: false)))
            try await one.unlock(buckets: [7])
            #expect(try await other.tryLock(buckets: [7, 8]) == [7])
            one.close()
            try await other.unlock(.night(isShared: true))
            // A backend goes a moment after its connection was closed.
            var isFree = try await other.tryLock(.night(isShared: false))
            for _ in 0..<1_000 where !isFree {
                try await Task.sleep(for: .milliseconds(10))
                isFree = try await other.tryLock(.night(isShared: false))
            }
            #expect(isFree)
        }
    }

    /// Whoever may connect sees the space of a night's locks in pg_locks while it lasts.
    @Test func whatAnotherLoginHoldsIsNotWaitedForHoweverBusyItIs() async throws {
        try await withLedger { ledger in
            let (one, other) = (try await ledger.session(), try await ledger.session())
            let stranger = try await ledger.database.connect(as: "iap_finance")
            defer { for session in [one, other] { session.close() } }
            #expect(try await one.tryLock(.sweep))
            #expect(try await !other.isHeldIdly(.sweep, for: 60))
            try await one.unlock(.sweep)
            let space: Int32 = try await ledger.value("(SELECT space FROM iap.lock_space)")
            let sweep = LedgerLock.sweep.number
            _ = try await stranger.query("SELECT pg_advisory_lock(\(space), \(sweep))")
            #expect(try await other.isHeldIdly(.sweep, for: 60))
            stranger.close()
        }
    }

    @Test func whoeverHoldsALaterRunsSignOfLifeIsNamed() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let stranger = try await ledger.database.connect(as: "iap_finance")
            let space: Int32 = try await ledger.value("(SELECT space FROM iap.lock_space)")
            let life = LedgerLock.run(1).number
            _ = try await stranger.query("SELECT pg_advisory_lock(\(space), \(life))")
            await #expect {
                _ = try await ledger.begin(at: Date(), session)
            } throws: { error in
                guard case .failed(let text) = error as? LedgerError else { return false }
                return text.contains("iap_finance since")
            }
            stranger.close()
        }
    }

    @Test func erasingAsksForTheVeryLockThatANightHolds() async throws {
        try await withLedger { ledger in
            let asked: Int32 = try await ledger.value("iap.night_lock()")
            #expect(asked == LedgerLock.night(isShared: false).number)
        }
    }

    @Test func twoDatabasesLockInSpacesOfTheirOwn() async throws {
        let spaces = try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    try await withScratchDatabase(empty: true) { database in
                        let session = try await LedgerSession.connect(LedgerSettings(database: database.conninfo))
                        defer { session.close() }
                        _ = try await session.migrate()
                        return try await LedgerBench(database: database).value("(SELECT space FROM iap.lock_space)")
                    }
                }
            }
            return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
        }
        #expect(spaces.count == 2)
    }

    @Test func aSessionThatWasLostComesBackAndStages() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let began = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
            let receipt = try await ledger.submit("a receipt", for: "1")
            let run = try await ledger.begin(at: began, session)
            let sighting = try LedgerBench.sighting("1", receipt: receipt, at: began)
            _ = try await ledger.record([sighting], receipts: [receipt], run: run, at: began, session)
            try await ledger.execute(
                """
                DO $$
                BEGIN
                    PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                    WHERE datname = current_database() AND usename = 'iap_job';
                END
                $$
                """)
            await #expect(throws: LedgerError.self) { _ = try await session.dueReceipts(at: began) }
            #expect(!session.isAlive)
            try await session.reconnect()
            let totals = try await ledger.record([sighting], receipts: [receipt], run: run, at: began, session)
            #expect(totals.alreadyWhite.transactions == 1)
        }
    }

    /// After a failover to a standby that lagged behind, the next run has the number again.
    @Test func aRunThatTheDatabaseForgotIsNotFoundAgain() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let run = try await ledger.begin(at: Date(), session)
            try await session.findAgain(run)
            try await ledger.execute("DELETE FROM iap.runs")
            await #expect {
                try await session.findAgain(run)
            } throws: { error in
                guard case .forgottenRun(let text) = error as? LedgerError else { return false }
                return text.contains("without run \(run)")
            }
        }
    }

    @Test func theJobsRightsAreCheckedBeforeTheNight() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            try await session.checkRights()
            let found = try await session.examine()
            #expect(found.missingRights.isEmpty && !found.isTooPowerful)
            for right in [
                "EXECUTE ON FUNCTION iap.record", "EXECUTE ON FUNCTION iap.hear_patiently",
                "EXECUTE ON FUNCTION audit.seal(iap.uploads)", "SELECT ON audit.trail", "UPDATE (seal) ON iap.receipts",
                "USAGE ON SEQUENCE iap.trail",
            ] as [SQL] { try await ledger.execute("REVOKE \(right) FROM iap_job") }
            await #expect {
                try await session.checkRights()
            } throws: { error in
                guard case LedgerError.forbidden(let text) = error else { return false }
                return text
                    == "the role lacks EXECUTE on audit.seal(uploads), EXECUTE on iap.hear_patiently, "
                    + "EXECUTE on iap.record, SELECT on audit.trail, UPDATE of seal on iap.receipts, USAGE on iap.trail"
            }
            let desk = try await ledger.session(as: "iap_support")
            defer { desk.close() }
            #expect(try await desk.missingRights(of: .support).isEmpty)
            try await ledger.execute("REVOKE SELECT ON iap.moves FROM iap_support")
            #expect(try await desk.missingRights(of: .support) == ["SELECT on iap.moves"])
        }
    }

    /// As where an administrator takes it from `PUBLIC` and from all roles: no batch could be staged.
    @Test func theRightToTemporaryTablesIsMissed() async throws {
        try await withLedger { ledger in
            let name = SQL("\(identifier: ledger.database.name)")
            try await ledger.execute("REVOKE TEMPORARY ON DATABASE \(name) FROM PUBLIC, iap_job, iap_import")
            for (role, missing) in [
                (.job, ["TEMPORARY on the database"]), (.imports, ["TEMPORARY on the database"]), (.support, []),
            ] as [(LedgerRole, [String])] {
                let session = try await ledger.session(as: role.rawValue)
                defer { session.close() }
                #expect(try await session.missingRights(of: role) == missing)
            }
        }
    }

    /// A night that saw no receipt would call itself complete.
    @Test func aPolicyHidesNoReceiptFromANight() async throws {
        try await withLedger { ledger in
            _ = try await ledger.submit("a receipt", for: "1")
            let session = try await ledger.session()
            defer { session.close() }
            try await ledger.execute("ALTER TABLE iap.receipts ENABLE ROW LEVEL SECURITY")
            await #expect {
                _ = try await session.dueReceipts(at: Date() + 60)
            } throws: { error in
                guard case .forbidden(let text) = error as? LedgerError else { return false }
                return text.contains("row-level security") && text.contains("receipts")
            }
        }
    }

    /// A login that owns the schema has every right of the job's, and seldom that one.
    @Test func noNightNeedsAMembership() {
        #expect(Grant.all(in: "GRANT pg_read_all_stats TO iap_job; GRANT SELECT ON iap.runs TO iap_job;").count == 1)
    }

    /// What PostgreSQL knows of a role's rights, and the night goes by, is the same: no statement of sql/roles.sql is
    /// left out.
    @Test(arguments: LedgerRole.allCases)
    func everyRightThatIsGrantedIsMissedOnceItIsGone(role: LedgerRole) async throws {
        try await withLedger { ledger in
            let granted: Int64 = try await ledger.value(
                """
                (SELECT count(*)
                FROM (
                    SELECT entry.*
                    FROM pg_class
                    CROSS JOIN aclexplode(relacl) AS entry
                    WHERE relnamespace IN ('iap'::regnamespace, 'audit'::regnamespace, 'finance'::regnamespace)
                    UNION ALL
                    SELECT entry.*
                    FROM pg_attribute
                    CROSS JOIN aclexplode(attacl) AS entry
                    UNION ALL
                    SELECT entry.*
                    FROM pg_proc
                    CROSS JOIN aclexplode(proacl) AS entry
                    WHERE pronamespace IN ('iap'::regnamespace, 'audit'::regnamespace, 'finance'::regnamespace)
                ) AS entries
                WHERE grantee = \(role.rawValue)::regrole)
                """)
            let session = try await ledger.session(as: role.rawValue)
            defer { session.close() }
            #expect(try await session.missingRights(of: role) == [])
            let name = SQL("\(identifier: role.rawValue)")
            for objects in ["TABLES", "SEQUENCES", "FUNCTIONS"] {
                try await ledger.execute(
                    "REVOKE ALL ON ALL \(unsafe: objects) IN SCHEMA iap, audit, finance FROM \(name)")
            }
            #expect(try await session.missingRights(of: role).count == Int(granted))
        }
    }

    /// Of such a delivery no order is known to be paid, which whoever decides must hear.
    @Test func aDeliveryForNobodyIsToldAsOne() async throws {
        try await withLedger { ledger in
            for id in ["1", "2"] {
                let _: String = try await ledger.value(
                    "iap.admit('com.example.a', 'Production', \(id), \(id), 'gems', 1, '2026-01-01')")
            }
            let desk = try await ledger.session(as: "iap_support")
            defer { desk.close() }
            var resolution = Resolution(
                transactionID: try #require(TransactionID("1")), decision: .delivered(), by: "sue", note: "a ticket")
            #expect(try await desk.carryOut(resolution) == .deliveredToNobody)
            resolution.transactionID = try #require(TransactionID("2"))
            resolution.decision = .delivered(to: Resolution.Recipient(userID: "ann", isUnknown: true))
            #expect(try await desk.carryOut(resolution) == .done)
        }
    }

    @Test func theDeskSeesAPurchasesWholeWay() async throws {
        try await withLedger { ledger in
            let _: String = try await ledger.value(
                "iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, '2026-01-01', 'ann')")
            let desk = try await ledger.session(as: "iap_support")
            defer { desk.close() }
            var resolution = Resolution(
                transactionID: try #require(TransactionID("1")), decision: .delivered(), by: "sue", note: "a ticket")
            #expect(try await desk.carryOut(resolution) == .done)
            #expect(try await desk.carryOut(resolution) == .unchanged(.alreadyDelivered))
            resolution.decision = .reopened
            #expect(try await desk.carryOut(resolution) == .done)
            let found = try #require(try await desk.lookUp("1").transactions.first)
            #expect(found.events.map(\.kind) == ["resolved", "reopened"])
            #expect(found.events.first?.details["note"] == "a ticket")
            guard case .white(let owed) = found.place else { return #expect(Bool(false), "\(found.place)") }
            #expect(owed.admittedFor == "ann")
            #expect(try await desk.lookUp("nobody").transactions.isEmpty)
        }
    }

    @Test func aPersonIsErasedFromEveryRow() async throws {
        try await withLedger { ledger in
            for call: SQL in [
                "iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, '2026-01-01', 'ann')",
                "iap.claim('com.example.a', '1', 'ann', 'order-1')",
            ] { let _: String = try await ledger.value(call) }
            let job = try await ledger.session()
            defer { job.close() }
            let began = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
            _ = try await job.closeBooks(of: try await ledger.begin(at: began, job))
            let session = try await ledger.session(as: "iap_privacy")
            defer { session.close() }
            guard case .erased = try await session.erase(Erasure(userID: "ann", by: "dana", isDryRun: true))
            else { return #expect(Bool(false)) }
            let outcome = try await session.erase(Erasure(userID: "ann", by: "dana"))
            guard case .erased(let pseudonym, _, let rows, _) = outcome else {
                return #expect(Bool(false), "\(outcome)")
            }
            #expect(rows.contains { $0.table == "transactions" && $0.count == 1 })
            let user: String = try await ledger.value("(SELECT user_id FROM iap.black)")
            #expect(user == pseudonym)
            let named: Int = try await ledger.value(
                "(SELECT count(*) FROM iap.moves WHERE details::text LIKE '%ann%')")
            #expect(named == 0)
            #expect(try await ledger.violations() == [])
            #expect(try await session.erase(Erasure(userID: "ann", by: "dana")) == .unknown)
        }
    }

    @Test func aSalesReportIsTakenOnce() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let day = try #require(CalendarDay(year: 2026, month: 11, day: 20))
            let line = SalesLine(
                day: day, developer: "Us", appSKU: "GAME", productID: try #require(ProductID("gems")), type: "IA1",
                storefront: "USA", units: 3, price: nil, proceeds: nil)
            let staged = StagedSales(
                file: "S_D.txt", otherDays: [], refused: 0, apps: ["GAME": try LedgerBench.app().bundleID])
            try await session.prepareSales()
            for _ in 0..<2 {
                try await session.stage([line])
                #expect(try await session.take(staged).days.count == 1)
            }
            let reports: Int = try await ledger.value("(SELECT count(*) FROM iap.sales_reports)")
            #expect(reports == 1)
            let figures = try #require(try await session.salesFigures(of: .among([day])))
            #expect(figures.unitsSold == 3 && figures.unitsSeen == 0 && figures.missing == 3)
            try await session.stage([line])
            try await session.discardStagedSales()
        }
    }
}
