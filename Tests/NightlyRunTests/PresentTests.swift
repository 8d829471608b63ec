import Verification
import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing

@testable import Commands
@testable import Job
@testable import NightlyRun

/// The clocks that a night goes by, and what a wrong one must not do.
@Suite struct PresentTests {
    private let clock = Date(timeIntervalSince1970: 1_790_000_000)

    private func refusal(_ asOf: AsOf, _ time: LedgerTime) -> String? {
        do {
            _ = try Present(asOf, time)
            return nil
        } catch {
            #expect(error.exitCode == .configuration)
            return error.description
        }
    }

    @Test func thePresentIsPostgreSQLs() throws {
        let present = try Present(.clock, LedgerTime(server: clock, host: clock - 3000))
        #expect(present.moment == clock)
        #expect(present.offset == 3000)
        #expect(present.warning?.contains("3000 seconds behind") == true)
        #expect(try Present(.clock, LedgerTime(server: clock, host: clock + 121)).warning?.contains("ahead") == true)
        #expect(try Present(.clock, LedgerTime(server: clock, host: clock + 119)).warning == nil)
    }

    @Test(arguments: [126_144_000.0, -126_144_000, 3601, -3601] as [TimeInterval])
    func aHostHoursAwayIsRefused(seconds: TimeInterval) {
        let text = refusal(.clock, LedgerTime(server: clock, host: clock + seconds))
        #expect(text?.contains("This host's clock says") == true)
        #expect(refusal(.moment(clock - 60), LedgerTime(server: clock, host: clock + seconds)) == text)
        #expect(Doctor.clock(seconds).verdict == .wrong)
        #expect(Doctor.clock(seconds.sign == .minus ? -3600 : 3600).verdict == .warning)
    }

    @Test func aMomentThatCannotBeIsRefused() {
        let time = LedgerTime(server: clock, host: clock, latest: (12, clock - 86_400), isRehearsal: true)
        #expect(refusal(.moment(clock + 1), time)?.contains("has not come yet") == true)
        #expect(refusal(.moment(clock - 86_401), time)?.contains("run 12") == true)
        #expect(refusal(.moment(clock - 86_400), time) == nil)
        #expect(refusal(.replay(clock + 1e9), time) == nil)
        #expect(refusal(.replay(clock - 1e9), time) == nil)
    }

    @Test func aServerWhoseClockWentBackIsRefused() {
        let time = LedgerTime(server: clock, host: clock, latest: (12, clock + 1))
        #expect(refusal(.clock, time)?.contains("look in iap.runs") == true)
        #expect(refusal(.replay(clock), time)?.contains("migrate --rehearsal") == true)
    }

    @Test func whatIsRefusedChangesNothing() async throws {
        try await withStage(customers: 30) { stage in
            let connection = try await stage.database.connect()
            defer { connection.close() }
            try await connection.execute("DELETE FROM iap.rehearsal")
            let before = try await stage.rows(of: "iap.receipts")
            for asOf in [AsOf.replay(Stage.now), .moment(.now + 4 * 365 * 86_400)] {
                await #expect {
                    _ = try await stage.run(RunOptions(asOf: asOf))
                } throws: { error in
                    (error as? JobError)?.exitCode == .configuration
                }
            }
            #expect(try await stage.rows(of: "iap.receipts") == before)
            #expect(try await stage.rows(of: "iap.runs").isEmpty)
            #expect(try await stage.rows(of: "audit.frontier").count == 1)
        }
    }

    /// A digit of the year is soon wrong, and all open cases would be withdrawn.
    @Test(arguments: [(20, false), (40, true)])
    func aSinceThatIsStillToComeIsTold(days: Double, isRefused: Bool) async throws {
        try await withStage(customers: 30) { stage in
            var stage = stage
            let app = stage.settings.apps[0].app
            let since = max(Stage.now, Date()).addingTimeInterval(days * 86_400)
            stage.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: app.environment, grace: app.grace, since: since)
            let found = await Doctor(settings: stage.settings).examine().first { $0.name.hasPrefix("since of ") }
            #expect(found?.verdict == (isRefused ? .wrong : .warning))
            let told = Mutex<[String]>([])
            do {
                _ = try await stage.run(log: { entry in told.withLock { $0.append(entry.message) } })
                #expect(!isRefused)
            } catch let error as JobError {
                #expect(isRefused && error.exitCode == .configuration)
                told.withLock { $0.append(error.description) }
                #expect(try await stage.rows(of: "iap.runs").isEmpty)
            }
            #expect(told.withLock { $0.contains { $0.contains("is still to come: nothing that is bought before it") } })
        }
    }

    @Test func anEarlierMomentIsAsOfThen() async throws {
        try await withStage(customers: 30) { stage in
            let now = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 - 7200).rounded())
            let (report, _) = try await stage.run(RunOptions(asOf: .moment(now)))
            #expect(report.now == now)
            await #expect {
                _ = try await stage.run(RunOptions(asOf: .moment(now - 1)))
            } throws: { error in
                "\(error)".contains("run 1 was as of")
            }
        }
    }

    @Test func aLedgerThatHoldsSomethingIsNoRehearsal() async throws {
        try await withScratchDatabase { database in
            let connection = try await database.connect()
            defer { connection.close() }
            try await connection.execute("DELETE FROM iap.rehearsal")
            #expect(try await SchemaUpdate.migrate(database: database.conninfo, isRehearsal: true).isEmpty)
            #expect(try await SchemaUpdate.migrate(database: database.conninfo, isRehearsal: true).isEmpty)
            try await connection.execute("DELETE FROM iap.rehearsal")
            _ = try await connection.query("SELECT iap.submit_receipt('com.a', 'u', 'x', NULL, NULL, NULL)")
            await #expect(throws: JobError.self) {
                try await SchemaUpdate.migrate(database: database.conninfo, isRehearsal: true)
            }
            let marks = try await connection.query("SELECT FROM iap.rehearsal")
            #expect(marks.isEmpty)
        }
    }
}
