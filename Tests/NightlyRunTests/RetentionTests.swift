import Commands
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// What a night, and the commands, take away; the rules themselves are tested in the database.
@Suite struct RetentionTests {
    private static let later = Stage.now.addingTimeInterval(100 * 86_400)

    private func count(_ condition: SQL, _ database: ScratchDatabase) async throws -> Int {
        let connection = try await database.connect()
        defer { connection.close() }
        let rows = try await connection.query("SELECT count(*) AS rows FROM iap.receipts WHERE \(condition)")
        return try #require(rows.first).decode("rows")
    }

    private let isClosed: SQL = "next_attempt_at IS NULL"
    private let isOpen: SQL = "next_attempt_at IS NOT NULL"

    @Test func aNightTakesAwayWhatIsOldAndSettled() async throws {
        try await withStage(customers: 85) { stage in
            var stage = stage
            stage.settings.retention = Retention(payloads: 50 * 86_400, devices: 20 * 86_400)
            let first = try await stage.run()
            #expect(first.report.purged == Purged())
            let payloads = try await count(isClosed, stage.database)
            let devices = try await count("\(isClosed) AND device IS NOT NULL", stage.database)
            let open = try await count(isOpen, stage.database)
            #expect(payloads > 20 && devices > 20 && open > 5)

            let later = try await stage.run(RunOptions(now: Self.later))
            // What that night settled it keeps: it was looked at just now.
            #expect(later.report.purged == Purged(payloads: payloads, devices: devices))
            #expect(try await stage.reportAgain().purged == later.report.purged)
            #expect(try await count("payload IS NULL", stage.database) == payloads)
            #expect(try await count("\(isOpen) AND payload IS NULL", stage.database) == 0)
            let again = try await stage.run(RunOptions(now: Self.later.addingTimeInterval(86_400)))
            #expect(again.report.purged == Purged())
            #expect(again.report.cases.total > 0)
            #expect(try await violations(stage.database) == [])
        }
    }

    @Test func aDryRunAndAnEndlessRetentionTakeNothingAway() async throws {
        try await withStage(customers: 45) { stage in
            var stage = stage
            _ = try await stage.run()
            stage.settings.retention = Retention(payloads: nil, devices: nil)
            let endless = try await stage.run(RunOptions(now: Self.later))
            stage.settings.retention = Retention()
            let dry = try await stage.run(RunOptions(isDryRun: true, now: Self.later.addingTimeInterval(200 * 86_400)))
            #expect(endless.report.purged == Purged() && dry.report.purged == Purged())
            #expect(try await count("payload IS NULL OR device_purged_at IS NOT NULL", stage.database) == 0)
        }
    }

    @Test func aPurgeByHandTakesTheRestAndCountsItBefore() async throws {
        try await withStage(customers: 45) { stage in
            _ = try await stage.run()
            let desk = RetentionDesk(settings: stage.settings)
            let counted = try await desk.purge(isDryRun: true, asOf: .replay(Self.later), stop: StopSignal())
            #expect(counted.payloads == 0 && counted.devices > 0)
            let stopped = StopSignal()
            stopped.request("enough")
            #expect(try await desk.purge(isDryRun: false, asOf: .replay(Self.later), stop: stopped) == Purged())
            #expect(try await desk.purge(isDryRun: false, asOf: .replay(Self.later), stop: StopSignal()) == counted)
            #expect(try await desk.purge(isDryRun: true, asOf: .replay(Self.later), stop: StopSignal()) == Purged())
        }
    }

    /// A purge is committed batch by batch: what is gone before a lock, or the end of its database, stops it is told, and
    /// counted in the trail.
    @Test(.timeLimit(.minutes(2)), arguments: ["lock_not_available", "admin_shutdown", "query_canceled"])
    func aPurgeThatIsStoppedCountsWhatIsGone(by state: String) async throws {
        try await withStage(customers: 85) { stage in
            _ = try await stage.run()
            let connection = try await stage.database.connect()
            defer { connection.close() }
            // Of the buckets that hold anything to purge, the first is free.
            try await connection.executeScript(
                unsafe: """
                    CREATE FUNCTION public.busy() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                        $$BEGIN
                            IF EXISTS (
                                SELECT FROM iap.receipts
                                WHERE device_purged_at IS NOT NULL AND bucket <> NEW.bucket)
                            THEN
                                RAISE EXCEPTION 'stopped' USING ERRCODE = '\(state)';
                            END IF;
                            RETURN NEW;
                        END$$;
                    CREATE TRIGGER busy BEFORE UPDATE OF device_purged_at ON iap.receipts
                        FOR EACH ROW EXECUTE FUNCTION public.busy();
                    """)
            let desk = RetentionDesk(settings: stage.settings)
            await #expect {
                _ = try await desk.purge(isDryRun: false, asOf: .replay(Self.later), stop: StopSignal())
            } throws: {
                ($0 as? JobError)?.exitCode == .tryLater && !"\($0)".contains("Nothing was changed")
            }
            let gone = try await count("device_purged_at IS NOT NULL", stage.database)
            let noted = try await connection.query(
                "SELECT (details ->> 'devices')::bigint AS devices FROM iap.events WHERE kind = 'purged'")
            #expect(gone > 0)
            #expect(try noted.map { try $0.decode("devices", as: Int.self) } == [gone])
        }
    }

    @Test func anErasureLeavesASoundLedgerAndWaitsForARun() async throws {
        try await withStage(customers: 85) { stage in
            _ = try await stage.run()
            let connection = try await stage.database.connect()
            defer { connection.close() }
            let user = try #require(
                try await connection.query(
                    """
                    SELECT user_id FROM iap.black
                    WHERE user_id NOT IN (SELECT unnest(owner_user_ids) FROM iap.cases WHERE state = 'open')
                    ORDER BY 1
                    LIMIT 1
                    """
                ).first
            ).decode("user_id", as: String.self)
            var settings = stage.settings
            settings.database = stage.database.conninfo(as: "iap_privacy")
            let desk = RetentionDesk(settings: settings)
            let erasure = Erasure(userID: user, by: "dan", isEvenOpen: true)

            _ = try await connection.query("SELECT pg_advisory_lock_shared(space, 1000) FROM iap.lock_space")
            await #expect {
                _ = try await desk.erase(erasure)
            } throws: { error in
                guard case JobError.anotherRun(let text) = error else { return false }
                return text.contains("a run is under way")
            }
            _ = try await connection.query("SELECT pg_advisory_unlock_all()")

            let rehearsal = try await desk.erase(
                Erasure(userID: user, by: "dan", isEvenOpen: true, isDryRun: true))
            guard case .erased(_, _, let rehearsed, _) = rehearsal else { return #expect(Bool(false), "\(rehearsal)") }
            let outcome = try await desk.erase(erasure)
            guard case .erased(let pseudonym, _, let rows, let open) = outcome else {
                return #expect(Bool(false), "\(outcome)")
            }
            #expect(rows == rehearsed)
            #expect(open.waitingReceipts == 0)
            #expect(try await desk.erase(erasure) == .unknown)
            #expect(try await violations(stage.database) == [])
            let later = try await stage.run(RunOptions(now: Stage.now.addingTimeInterval(86_400)))
            #expect(later.report.totals.imbalances == [])
            #expect(try await count("user_id = \(pseudonym)", stage.database) > 0)
            #expect(try await count("user_id = \(user)", stage.database) == 0)
        }
    }
}
