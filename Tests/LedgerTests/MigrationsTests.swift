import Foundation
@testable import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// The schema's way from nothing to what this program needs, and what is refused on it.
@Suite struct MigrationsTests {
    private let folder = PackageRoot.folder.appending(path: "sql/migrations")

    private func withEmptyDatabase(_ body: (ScratchDatabase, LedgerSession) async throws -> Void) async throws {
        try await withScratchDatabase(empty: true) { database in
            let session = try await LedgerSession.connect(LedgerSettings(database: database.conninfo))
            defer { session.close() }
            try await body(database, session)
        }
    }

    /// A migrated database, and what became of its list of migrations.
    private func withHistory(
        changedBy sql: SQL, _ body: (ScratchDatabase, LedgerSession) async throws -> Void
    ) async throws {
        try await withEmptyDatabase { database, session in
            _ = try await session.migrate()
            try await database.connect().execute(sql)
            try await body(database, session)
        }
    }

    private func expectSchemaError(_ text: String, _ body: () async throws -> Void) async {
        await #expect {
            try await body()
        } throws: { error in
            guard case LedgerError.schema(let said) = error else { return false }
            return said.contains(text)
        }
    }

    private func expectState(_ state: SchemaState, _ session: LedgerSession) async throws {
        #expect(try await session.schemaState() == state)
    }

    @Test func everyFileIsKnownInItsOrderWithItsText() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(Migration.all.map(\.fileName) == files.map { $0.replacing(".sql", with: "") })
        #expect(Migration.all.map(\.number) == Array(1...files.count))
        for migration in Migration.all { #expect(try migration.sql == text(of: migration)) }
    }

    /// A migration is a file, or a folder of files in their order.
    private func text(of migration: Migration) throws -> String {
        let path = folder.appending(path: migration.fileName)
        guard (try? path.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) == true else {
            return try String(contentsOf: path.appendingPathExtension("sql"), encoding: .utf8)
        }
        return try FileManager.default.contentsOfDirectory(atPath: path.path).sorted()
            .map { try String(contentsOf: path.appending(path: $0), encoding: .utf8) }
            .joined(separator: "\n")
    }

    /// What was once applied somewhere is never edited: a change is a migration of its own. `Tests/SQL/run.sh
    /// --record-schema` adds the checksums of new ones.
    @Test func noMigrationIsEditedAfterItWasCommitted() async throws {
        try await withScratchDatabase { database in
            let rows = try await database.connect().query(
                "SELECT number, name, checksum FROM iap.migrations ORDER BY 1")
            let applied = try rows.map { row in
                let (number, name) = (try row.decode("number", as: Int32.self), try row.decode("name", as: String.self))
                return "\(number) \(name) \(try row.decode("checksum", as: String.self))"
            }
            let committed = try String(
                contentsOf: PackageRoot.folder.appending(path: "Tests/SQL/migrations.sha256"), encoding: .utf8)
            #expect(applied == committed.split(separator: "\n").map(String.init))
        }
    }

    @Test func aDatabaseThatCannotHoldEveryTextIsRefused() async throws {
        let cluster = try await ScratchCluster.shared()
        let admin = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        defer { admin.close() }
        let name = "latin_\(UUID().uuidString.prefix(8).lowercased())"
        try await admin.execute(
            "CREATE DATABASE \(identifier: name) ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        let session = try await LedgerSession.connect(
            LedgerSettings(database: cluster.superuserConninfo(database: name)))
        await expectSchemaError("is in LATIN1") { _ = try await session.migrate() }
        session.close()
        try await admin.execute("DROP DATABASE \(identifier: name)")
    }

    @Test func bringsAnEmptyDatabaseUpToDateOnce() async throws {
        try await withEmptyDatabase { _, session in
            #expect(try await session.schemaState() == .missing)
            await expectSchemaError("iap-reconcile migrate") { try await session.checkSchema() }
            #expect(try await session.migrate() == Migration.all.map(\.fileName))
            #expect(try await session.schemaState() == .current)
            try await session.checkSchema()
            #expect(try await session.migrate().isEmpty)
        }
    }

    @Test func twoThatMigrateAtOnceApplyEachStepOnce() async throws {
        try await withEmptyDatabase { database, _ in
            let conninfo = database.conninfo
            let applied = try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        let session = try await LedgerSession.connect(LedgerSettings(database: conninfo))
                        defer { session.close() }
                        return try await session.migrate()
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(applied.sorted() == Migration.all.map(\.fileName))
        }
    }

    @Test func whatIsPrintedDoesTheSameByHand() async throws {
        try await withEmptyDatabase { database, session in
            let printed = try await session.pendingSQL()
            let options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.conninfo, "-f", "-"]
            let ended = try await database.cluster.run("psql", options, input: printed)
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(try await session.schemaState() == .current)
            #expect(try await session.pendingSQL().isEmpty)
        }
    }

    @Test func aStepThatFailsLeavesNothingOfItself() async throws {
        try await withEmptyDatabase { database, session in
            let connection = try await database.connect()
            try await connection.execute(
                """
                CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql
                AS 'BEGIN RAISE EXCEPTION ''no views here''; END'
                """)
            try await connection.execute(
                """
                CREATE EVENT TRIGGER no_views ON ddl_command_start WHEN TAG IN ('CREATE VIEW')
                EXECUTE FUNCTION refuse()
                """)
            await #expect(throws: LedgerError.self) { try await session.migrate() }
            let found = try await connection.query("SELECT nspname FROM pg_namespace WHERE nspname = 'iap'")
            #expect(found.isEmpty)
            #expect(try await session.schemaState() == .missing)
        }
    }

    @Test(arguments: ["iap", "finance", "audit"])
    func anothersSchemaOfTheSameNameIsSaid(name: String) async throws {
        try await withEmptyDatabase { database, session in
            let connection = try await database.connect()
            try await connection.execute("CREATE SCHEMA \(identifier: name)")
            await expectSchemaError("a schema \(name) already") { _ = try await session.migrate() }
            #expect(try await session.schemaState() == .missing)
        }
    }

    @Test func anOlderSchemaNamesWhatIsPending() async throws {
        let last = try #require(Migration.all.last)
        try await withHistory(changedBy: "DELETE FROM iap.migrations WHERE number = \(Int32(last.number))") {
            _, session in
            try await expectState(.older(pending: [last]), session)
            await expectSchemaError(last.fileName) { try await session.checkSchema() }
        }
    }

    @Test func aNewerSchemaIsRefused() async throws {
        let newer: SQL = "INSERT INTO iap.migrations VALUES (99, 'later', \(String(repeating: "0", count: 64)))"
        try await withHistory(changedBy: newer) { _, session in
            try await expectState(.newer(99), session)
            await expectSchemaError("newer than this program (migration 99)") { try await session.checkSchema() }
            await expectSchemaError("newer") { _ = try await session.migrate() }
            await expectSchemaError("newer") { _ = try await session.pendingSQL() }
        }
    }

    @Test func aChangedStepIsRefused() async throws {
        let changed: SQL = "UPDATE iap.migrations SET checksum = \(String(repeating: "0", count: 64)) WHERE number = 1"
        try await withHistory(changedBy: changed) { _, session in
            try await expectState(.changed(Migration.all[0]), session)
            await expectSchemaError("0001_ledger was applied with another text") {
                _ = try await session.migrate()
            }
        }
    }

    @Test func aGapIsSeen() {
        let (first, second) = (
            Migration(number: 1, name: "first", sql: "a"), Migration(number: 2, name: "second", sql: "b")
        )
        let known = [(migration: first, checksum: "1"), (migration: second, checksum: "2")]
        #expect(SchemaState.comparing(known, with: [2: "2"]) == .gap(first))
        #expect(SchemaState.comparing(known, with: [1: "1"]) == .older(pending: [second]))
        #expect(SchemaState.comparing(known, with: [1: "1", 2: "2"]) == .current)
        #expect(SchemaState.comparing(known, with: [1: "1", 2: "x"]) == .changed(second))
    }

    @Test func aRoleWithoutRightsIsToldSo() async throws {
        try await withScratchDatabase { database in
            let settings = LedgerSettings(database: database.conninfo(as: "iap_finance"))
            let session = try await LedgerSession.connect(settings)
            defer { session.close() }
            await #expect {
                try await session.checkSchema()
            } throws: { error in
                if case LedgerError.forbidden = error { true } else { false }
            }
        }
    }

    @Test func theJobsRoleMayCheckTheSchema() async throws {
        try await withScratchDatabase { database in
            let session = try await LedgerSession.connect(LedgerSettings(database: database.conninfo(as: "iap_job")))
            defer { session.close() }
            #expect(try await session.schemaState() == .current)
        }
    }
}
