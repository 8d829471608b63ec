import PostgreSQL
import TestSupport
import Testing

@Suite struct PostgreSQLErrorTests {
    private func error(_ sql: SQL, after script: String = "") async throws -> PostgreSQLError {
        try await withConnection { connection in
            try await connection.executeScript(unsafe: script)
            return try #require(await #expect(throws: PostgreSQLError.self) { try await connection.query(sql) })
        }
    }

    @Test func whatMayBeShownHoldsNoValue() async throws {
        let error = try await error(
            "INSERT INTO accounts VALUES (\("secret@example.com"))",
            after:
                "CREATE TEMP TABLE accounts (mail text PRIMARY KEY); INSERT INTO accounts VALUES ('secret@example.com')"
        )
        #expect(
            error.description == """
                PostgreSQL 23505: duplicate key value violates unique constraint "accounts_pkey" \
                (constraint accounts_pkey)
                """)
        #expect(
            error.debugDescription.replacing(/pg_temp_\d+/, with: "pg_temp") == """
                PostgreSQL 23505 [server(23505)]: duplicate key value violates unique constraint "accounts_pkey"
                  severity: ERROR
                  detail: Key (mail)=(secret@example.com) already exists.
                  schema: pg_temp
                  table: accounts
                  constraint: accounts_pkey
                  statement: INSERT INTO accounts VALUES ($1)
                """)
        #expect(error.sqlState == .uniqueViolation)
        #expect(error.constraint == "accounts_pkey")
        #expect(error.table == "accounts")
        #expect(!error.isTransient)
    }

    /// In class 22 the very message quotes the value.
    @Test func aRefusedValueIsNotQuoted() async throws {
        let error = try await error("SELECT \("secret")::integer")
        #expect(error.description == "PostgreSQL 22P02: the server refuses a value as data of its type")
        #expect(error.debugDescription.contains("secret"))
        #expect(error.sqlState == .invalidTextRepresentation)
    }

    @Test func aSyntaxErrorTellsThePosition() async throws {
        let error = try await error("SELECT 1 FORM t")
        #expect(error.sqlState == .syntaxError)
        #expect(error.position == 15)
        #expect(error.statement == "SELECT 1 FORM t")
    }

    @Test func hintsAreShown() async throws {
        let error = try await error("SELECT lenght('x')")
        #expect(error.sqlState == .undefinedFunction)
        #expect(error.description.contains(" Hint: No function matches"))
    }

    @Test(arguments: [
        ("SELECT * FROM nowhere", SQLState.undefinedTable), ("SELECT nothing", .undefinedColumn),
        ("SELECT * FROM pg_catalog.nowhere.there", SQLState(rawValue: "0A000")),
        ("CREATE TABLE nowhere.t ()", .invalidSchemaName), ("DO $$ BEGIN RAISE 'no'; END $$", .raisedException),
    ])
    func statesAreTheServers(_ sql: String, _ state: SQLState) async throws {
        #expect(try await error("\(unsafe: sql)").code == .server(state))
    }

    @Test func aRefusedGrantIsTold() async throws {
        let error = try await error(
            "SELECT * FROM private", after: "CREATE TEMP TABLE private (); SET ROLE pg_monitor")
        #expect(error.sqlState == .insufficientPrivilege)
    }

    @Test func statesKnowWhatPasses() {
        #expect(SQLState.deadlockDetected.isTransient)
        #expect(SQLState.adminShutdown.isConnectionLost)
        // Of a program that froze while a transaction was open.
        #expect(SQLState.idleInTransactionTimeout.isConnectionLost)
        #expect(SQLState.databaseDropped.isConnectionLost)
        #expect(SQLState.connectionFailure.isConnectionLost)
        #expect(!SQLState.protocolViolation.isConnectionLost)
        #expect(!SQLState.uniqueViolation.isTransient)
        #expect(SQLState(rawValue: "22012").errorClass == "22")
    }

    @Test func aFailedScriptDoesNothing() async throws {
        try await withConnection { connection in
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.executeScript(unsafe: "CREATE TEMP TABLE t (); SELECT 1 / 0; SELECT 1")
            }
            #expect(error?.sqlState?.rawValue == "22012")
            let rows = try await connection.query("SELECT to_regclass('pg_temp.t') IS NULL AS is_gone")
            #expect(try rows[0]("is_gone", as: Bool.self))
        }
    }

    @Test func noticesAreHandedOn() async throws {
        let seen = Seen()
        let conninfo = try await ScratchCluster.shared().superuserConninfo()
        let connection = try await Connection.connect(
            ConnectionSettings(conninfo, onNotice: { seen.add("\($0.severity): \($0.message)") }))
        try await connection.executeScript(unsafe: "DO $$ BEGIN RAISE NOTICE 'one'; RAISE WARNING 'two'; END $$")
        #expect(seen.texts == ["NOTICE: one", "WARNING: two"])
    }
}
