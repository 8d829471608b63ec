import PostgreSQL
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct CancellationTests {
    @Test func aCancelledStatementEndsAtOnceAndTheConnectionGoesOn() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            let handed = Handed(value: connection)
            let task = Task { try await handed.value.query("SELECT pg_sleep(300)") }
            try await database.waitUntilSleeping()
            task.cancel()
            let error = await #expect(throws: PostgreSQLError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(try await connection.query("SELECT 1 AS one")[0]("one", as: Int.self) == 1)
        }
    }

    @Test func aSessionThatIsGivenUpEndsItsStatementAndBeginsNoOther() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            let giveUp = connection.giveUp
            let handed = Handed(value: connection)
            let task = Task {
                try await handed.value.transaction { _ = try await handed.value.query("SELECT pg_sleep(300)") }
            }
            try await database.waitUntilSleeping()
            giveUp()
            let ended = await #expect(throws: TransactionError.self) { try await task.value }
            #expect(ended?.databaseError?.code == .cancelled)
            #expect(connection.isAlive && !connection.isInTransaction)
            let error = await #expect(throws: PostgreSQLError.self) { try await connection.query("SELECT 1") }
            #expect(error?.code == .cancelled)
        }
    }

    /// The request may reach the server before the statement, or after its end: neither may harm what comes next.
    @Test func cancellingAtAnyMomentHitsNoOtherStatement() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            let handed = Handed(value: connection)
            for round in 0..<60 {
                let task = Task { try await handed.value.query("SELECT pg_sleep(0.002)") }
                try await Task.sleep(for: .microseconds(round * 60))
                task.cancel()
                if case .failure(let error) = await task.result {
                    #expect((error as? PostgreSQLError)?.code == .cancelled)
                }
                #expect(try await connection.query("SELECT 1 AS one").count == 1)
            }
        }
    }

    @Test func aTaskThatIsCancelledAlreadySendsNothing() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            try await connection.execute("CREATE TABLE t (a int)")
            let handed = Handed(value: connection)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await handed.value.execute("INSERT INTO t VALUES (1)")
            }
            let error = await #expect(throws: PostgreSQLError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(try await connection.query("SELECT a FROM t").isEmpty)
        }
    }

    @Test func aStatementTimeOutIsNoCancellation() async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await Connection.connect(
                ConnectionSettings(database.conninfo, statementTimeout: 0.05))
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.query("SELECT pg_sleep(60)")
            }
            #expect(error?.code == .server(.queryCanceled))
            #expect(connection.isAlive)
        }
    }

    @Test func aLockTimeOutIsTransient() async throws {
        try await withScratchDatabase(empty: true) { database in
            let holder = try await database.connect()
            try await holder.execute("CREATE TABLE t (a int)")
            try await holder.executeScript(unsafe: "BEGIN; LOCK t")
            let waiter = try await Connection.connect(ConnectionSettings(database.conninfo, lockTimeout: 0.05))
            let error = await #expect(throws: PostgreSQLError.self) { try await waiter.query("SELECT * FROM t") }
            #expect(error?.sqlState == .lockNotAvailable)
            #expect(error?.isTransient == true)
        }
    }

    @Test func manySessionsWaitAtTheSameTime() async throws {
        try await withScratchDatabase(empty: true) { database in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<32 {
                    group.addTask { _ = try await database.connect().query("SELECT pg_sleep(600)") }
                }
                // All of them at once: were a thread held for each, only some would ever come so far.
                try await database.waitUntilSleeping(32)
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }
}
