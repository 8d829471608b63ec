import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import Ledger

/// How long a statement may take, what it means that it took longer, and what else a session has of its own.
@Suite struct StatementTimeoutTests {
    @Test func noLimitIsNoneWhateverTheDatabaseHas() async throws {
        try await withScratchDatabase(empty: true) { database in
            let admin = try await database.connect()
            defer { admin.close() }
            try await admin.execute("ALTER DATABASE \(identifier: database.name) SET statement_timeout = '7s'")
            for (limit, word) in [(nil, "0"), (9, "9s")] as [(TimeInterval?, String)] {
                let session = try await LedgerSession.connect(
                    LedgerSettings(database: database.conninfo, statementTimeout: limit))
                defer { session.close() }
                let row = try await session.connection.query("SELECT current_setting('statement_timeout') AS word")[0]
                #expect(try row("word", as: String.self) == word)
            }
        }
    }

    /// What is read as text, and what a statement by itself sees, is the same everywhere.
    @Test func theDatabasesDateStyleAndIsolationChangeNothing() async throws {
        try await withScratchDatabase(empty: true) { database in
            let admin = try await database.connect()
            defer { admin.close() }
            for setting in ["datestyle = 'German'", "default_transaction_isolation = 'serializable'"] as [SQL] {
                try await admin.execute("ALTER DATABASE \(identifier: database.name) SET \(setting)")
            }
            let session = try await LedgerSession.connect(LedgerSettings(database: database.conninfo))
            defer { session.close() }
            let row = try await session.connection.query(
                "SELECT '2026-03-04'::date::text AS day, current_setting('transaction_isolation') AS level")[0]
            #expect(try row("day", as: String.self) == "2026-03-04")
            #expect(try row("level", as: String.self) == "read committed")
        }
    }

    /// A run's own session stands idle, with the night's lock, while its workers work.
    @Test func theRolesLimitOnIdleSessionsHoldsUpNoNight() async throws {
        try await withScratchDatabase(empty: true) { database in
            let admin = try await database.connect()
            defer { admin.close() }
            // Long enough to connect on a busy machine.
            try await admin.execute("ALTER DATABASE \(identifier: database.name) SET idle_session_timeout = '10min'")
            let session = try await LedgerSession.connect(LedgerSettings(database: database.conninfo))
            defer { session.close() }
            let row = try await session.connection.query("SELECT current_setting('idle_session_timeout') AS limit")[0]
            #expect(try row("limit", as: String.self) == "0")
        }
    }

    @Test func aLimitOfPostgreSQLsIsNoErrorOfTheLedgers() async throws {
        try await withScratchDatabase(empty: true) { database in
            let session = try await LedgerSession.connect(LedgerSettings(database: database.conninfo))
            defer { session.close() }
            try await session.connection.execute("SET temp_file_limit = 0")
            let error = await #expect(throws: LedgerError.self) {
                try await translating {
                    _ = try await session.connection.query(
                        "SELECT repeat('x', 100) || n AS word FROM generate_series(1, 200000) AS n ORDER BY 1")
                }
            }
            guard case .exhausted(let text)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(text.hasPrefix("PostgreSQL 53400: "))
        }
    }

    @Test func aStatementThatTakesTooLongIsStopped() async throws {
        try await withScratchDatabase(empty: true) { database in
            let session = try await LedgerSession.connect(
                LedgerSettings(database: database.conninfo, statementTimeout: 0.2))
            defer { session.close() }
            let error = await #expect(throws: LedgerError.self) {
                try await translating { _ = try await session.connection.query("SELECT pg_sleep(300)") }
            }
            guard case .statementStopped(let text)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(text.hasPrefix("PostgreSQL 57014: "))
        }
    }
}
