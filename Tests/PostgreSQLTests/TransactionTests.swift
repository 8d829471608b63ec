import PostgreSQL
import TestSupport
import Testing

@Suite struct TransactionTests {
    private struct Refused: Error {}

    private func withTable(_ body: (Connection, ScratchDatabase) async throws -> Void) async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            try await connection.executeScript(
                unsafe: """
                    CREATE TABLE t (a bigint PRIMARY KEY, b bigint REFERENCES t DEFERRABLE INITIALLY DEFERRED)
                    """)
            try await body(connection, database)
        }
    }

    private func expectCount(_ count: Int, _ connection: Connection) async throws {
        let rows = try await connection.query("SELECT a FROM t")
        #expect(rows.count == count)
    }

    @Test func whatReturnsIsCommitted() async throws {
        try await withTable { connection, database in
            let answer = try await connection.transaction {
                try await connection.execute("INSERT INTO t (a) VALUES (1)")
                #expect(connection.isInTransaction)
                return 42
            }
            #expect(answer == 42)
            #expect(!connection.isInTransaction)
            try await expectCount(1, try await database.connect())
        }
    }

    @Test func whatThrowsIsRolledBack() async throws {
        try await withTable { connection, _ in
            let error = await #expect(throws: TransactionError.self) {
                try await connection.transaction {
                    try await connection.execute("INSERT INTO t (a) VALUES (1)")
                    throw Refused()
                }
            }
            guard case .body(let cause, rollback: nil) = error else { return #expect(Bool(false), "\(error as Any)") }
            #expect(cause is Refused)
            try await expectCount(0, connection)
        }
    }

    @Test func aRehearsalIsRolledBackAndGivesWhatItCameTo() async throws {
        try await withTable { connection, database in
            let answer = try await connection.transaction(isRehearsal: true) {
                try await connection.execute("INSERT INTO t (a) VALUES (1)")
                return 42
            }
            #expect(answer == 42 && !connection.isInTransaction)
            try await expectCount(0, connection)
            let error = await #expect(throws: TransactionError.self) {
                try await connection.transaction(isRehearsal: true) { connection.close() }
            }
            guard case .rollback(let cause) = error else { return #expect(Bool(false), "\(error as Any)") }
            #expect(cause.code == .connection)
        }
    }

    @Test func aFailedRollbackHidesNoCause() async throws {
        try await withTable { connection, _ in
            let error = await #expect(throws: TransactionError.self) {
                try await connection.transaction {
                    connection.close()
                    throw Refused()
                }
            }
            guard case .body(let cause, rollback: .some(let rollback)) = error else {
                return #expect(Bool(false), "\(error as Any)")
            }
            #expect(cause is Refused)
            #expect(rollback.code == .connection)
        }
    }

    @Test func aFailedCommitIsTold() async throws {
        try await withTable { connection, _ in
            let error = await #expect(throws: TransactionError.self) {
                try await connection.transaction { try await connection.execute("INSERT INTO t VALUES (1, 2)") }
            }
            guard case .commit(let cause) = error else { return #expect(Bool(false), "\(error as Any)") }
            #expect(cause.sqlState == .foreignKeyViolation)
            #expect(error?.isOutcomeUnknown == false)
            #expect(error?.databaseError?.sqlState == .foreignKeyViolation)
            try await expectCount(0, connection)
        }
    }

    /// The server calls the commit of a failed transaction a success, and rolls it back.
    @Test func aSwallowedErrorFailsTheCommit() async throws {
        try await withTable { connection, _ in
            let error = await #expect(throws: TransactionError.self) {
                try await connection.transaction {
                    try await connection.execute("INSERT INTO t (a) VALUES (1)")
                    _ = try? await connection.execute("SELECT 1 / 0")
                }
            }
            guard case .commit = error else { return #expect(Bool(false), "\(error as Any)") }
            #expect(error?.isOutcomeUnknown == false)
            try await expectCount(0, connection)
        }
    }

    @Test func aSessionLostInTheCommitLeavesTheOutcomeUnknown() async throws {
        try await withTable { connection, database in
            try await connection.executeScript(
                unsafe: """
                    CREATE FUNCTION fall() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
                    CREATE CONSTRAINT TRIGGER fall AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION fall();
                    """)
            let error = await #expect(throws: TransactionError.self) {
                try await connection.transaction { try await connection.execute("INSERT INTO t (a) VALUES (1)") }
            }
            #expect(error?.isOutcomeUnknown == true)
            #expect(error?.description.contains("unknown") == true)
            #expect(!connection.isAlive)
        }
    }

    @Test func transactionsDoNotNest() async throws {
        try await withTable { connection, _ in
            let error = await #expect(throws: TransactionError.self) {
                try await connection.transaction {
                    try await connection.execute("INSERT INTO t (a) VALUES (1)")
                    try await connection.transaction { Issue.record("must not run") }
                }
            }
            guard case .body(let cause, rollback: nil) = error, case .begin(let inner) = cause as? TransactionError
            else {
                return #expect(Bool(false), "\(error as Any)")
            }
            #expect(inner.code == .usage)
            try await expectCount(0, connection)
        }
    }

    @Test func aClosedConnectionCannotBegin() async throws {
        try await withTable { connection, _ in
            connection.close()
            let error = await #expect(throws: TransactionError.self) { try await connection.transaction {} }
            guard case .begin(let cause) = error else { return #expect(Bool(false), "\(error as Any)") }
            #expect(cause.code == .connection)
        }
    }

    @Test(arguments: [
        (Isolation.readCommitted, "read committed"), (.repeatableRead, "repeatable read"),
        (.serializable, "serializable"),
    ])
    func isolationIsAsAskedFor(_ isolation: Isolation, _ name: String) async throws {
        try await withTable { connection, _ in
            let found = try await connection.transaction(isolation, readOnly: true) {
                try await connection.query(
                    """
                    SELECT current_setting('transaction_isolation') AS isolation,
                        current_setting('transaction_read_only') AS read_only
                    """)[0]
            }
            #expect(try found("isolation", as: String.self) == name)
            #expect(try found("read_only", as: String.self) == "on")
        }
    }

    @Test func aSerializationFailureIsTransient() async throws {
        try await withTable { first, database in
            try await first.execute("INSERT INTO t (a) VALUES (1)")
            let second = try await database.connect()
            let error = await #expect(throws: TransactionError.self) {
                try await first.transaction(.repeatableRead) {
                    try await expectCount(1, first)
                    try await second.execute("UPDATE t SET b = 1")
                    try await first.execute("UPDATE t SET b = NULL")
                }
            }
            #expect(error?.databaseError?.sqlState == .serializationFailure)
            #expect(error?.databaseError?.isTransient == true)
        }
    }

    @Test func aCancelledTransactionIsRolledBack() async throws {
        try await withTable { connection, database in
            let handed = Handed(value: connection)
            let task = Task {
                try await handed.value.transaction {
                    try await handed.value.execute("INSERT INTO t (a) VALUES (1)")
                    try await handed.value.execute("SELECT pg_sleep(60)")
                }
            }
            try await database.waitUntilSleeping()
            task.cancel()
            let error = await #expect(throws: TransactionError.self) { try await task.value }
            #expect(error?.databaseError?.code == .cancelled)
            #expect(!connection.isInTransaction)
            try await expectCount(0, connection)
        }
    }
}
