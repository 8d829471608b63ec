import Foundation
import Job
import Ledger
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import NightlyRun

@Suite struct BesideTests {
    /// The run then does over its own connection what it would have had done beside.
    @Test func saysWhereNoConnectionIsFree() async throws {
        let log = Mutex<[LogEntry]>([])
        let beside = Beside(ledger: LedgerSettings(database: "host=/nowhere dbname=iap"), patience: 60) { entry in
            log.withLock { $0.append(entry) }
        }
        #expect(try await beside.run { _ in true } == nil)
        #expect(await !beside.isOpen)
        let entries = log.withLock { $0 }
        #expect(entries.map(\.level) == [.info] && entries.first?.fields["error"]?.contains("/nowhere") == true)
    }

    @Test func whoAskMeanwhileShareTheOneConnection() async throws {
        try await withScratchDatabase { database in
            let beside = Beside(
                ledger: LedgerSettings(database: database.conninfo(as: "iap_job")), patience: 60, log: { _ in })
            let areOpen = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 { group.addTask { await beside.isOpen } }
                return await group.reduce(into: [Bool]()) { $0.append($1) }
            }
            #expect(areOpen == Array(repeating: true, count: 8))
            let connection = try await database.connect()
            defer { connection.close() }
            let sessions = try await connection.query(
                """
                SELECT pid
                FROM pg_stat_activity
                WHERE datname = current_database() AND usename = 'iap_job'
                """)
            #expect(sessions.count == 1)
        }
    }
}
