import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite struct CopyTests {
    private func withTable(
        _ columns: String, _ body: (Connection, CopyTarget) async throws -> Void
    ) async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            try await connection.executeScript(
                unsafe:
                    #"CREATE TYPE mood AS ENUM ('glad', 'sad'); CREATE SCHEMA "Odd"; CREATE TABLE "Odd"."T x" (\#(columns))"#
            )
            let names = columns.split(separator: ",").map { String($0.split(separator: " ")[0]) }
            try await body(connection, CopyTarget(table: "Odd.T x", columns: names))
        }
    }

    @Test func everyTypeArrives() async throws {
        let columns =
            "a text,b bigint,c integer,d smallint,e boolean,f timestamptz,g bytea,h mood,i jsonb,j text[],k float8"
        try await withTable(columns) { connection, target in
            let date = Date(timeIntervalSince1970: 1_700_000_000)
            let count = try await connection.copyIn(into: target, rows: [true, false]) { isFilled, row in
                row.append(isFilled ? "text" : nil)
                row.append(isFilled ? Int.max : nil)
                row.append(isFilled ? Int32.min : nil)
                row.append(isFilled ? Int16.max : nil)
                row.append(isFilled ? true : nil)
                row.append(isFilled ? date : nil)
                row.append(isFilled ? Data([0, 1]) : nil)
                row.append(isFilled ? "glad" : nil)
                row.append(jsonb: isFilled ? #"{"x": 1}"# : nil)
                row.append(isFilled ? ["p", nil] : nil)
                if isFilled { row.append(1.5) } else { row.appendNull() }
            }
            #expect(count == 2)
            let rows = try await connection.query(
                #"SELECT "T x"::text AS row FROM "Odd"."T x" ORDER BY a NULLS LAST"#)
            let texts = try rows.map { try $0("row", as: String.self) }
            #expect(texts[0].hasPrefix("(text,9223372036854775807,-2147483648,32767,t,\"2023-11-14"))
            #expect(texts[0].hasSuffix(#"\\x0001",glad,"{""x"": 1}","{p,NULL}",1.5)"#))
            #expect(texts[1] == "(,,,,,,,,,,)")
        }
    }

    @Test func noRowsAreNoRows() async throws {
        try await withTable("a text") { connection, target in
            let count = try await connection.copyIn(into: target, rows: [String]()) { $1.append($0) }
            #expect(count == 0)
        }
    }

    @Test func largeValuesAndManyRowsArrive() async throws {
        try await withTable("a text,b bigint") { connection, target in
            let large = String(repeating: "ü", count: 500_000)
            let count = try await connection.copyIn(into: target, rows: 0..<20_000) { number, row in
                row.append(number % 5_000 == 0 ? large : "small")
                row.append(number)
            }
            #expect(count == 20_000)
            let rows = try await connection.query(
                #"SELECT sum(octet_length(a)) AS bytes, sum(b)::bigint AS sum FROM "Odd"."T x""#)
            #expect(try rows[0]("bytes", as: Int.self) == 4 * 1_000_000 + 19_996 * 5)
            #expect(try rows[0]("sum", as: Int.self) == 199_990_000)
        }
    }

    @Test func anErrorInTheMiddleWritesNothing() async throws {
        try await withTable("a bigint PRIMARY KEY") { connection, target in
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.copyIn(into: target, rows: 0..<200_000) { number, row in
                    row.append(number == 100_000 ? 1 : number)
                }
            }
            #expect(error?.sqlState == .uniqueViolation)
            try await expectEmpty(connection)
        }
    }

    @Test func aRowOfTheWrongLengthWritesNothing() async throws {
        try await withTable("a bigint,b bigint") { connection, target in
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.copyIn(into: target, rows: 0..<10) { number, row in
                    row.append(number)
                    if number != 7 { row.append(number) }
                }
            }
            #expect(error?.code == .usage)
            #expect(error?.message == "A copied row has 1 values for 2 columns.")
            try await expectEmpty(connection)
        }
    }

    @Test func aWrongTypeIsTheServersError() async throws {
        try await withTable("a smallint") { connection, target in
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.copyIn(into: target, rows: [1]) { $1.append($0) }
            }
            #expect(error?.sqlState?.rawValue == "22P03")
            try await expectEmpty(connection)
        }
    }

    @Test func aMissingTableIsTheServersError() async throws {
        try await withTable("a bigint") { connection, _ in
            let target = CopyTarget(table: "nowhere", columns: ["a"])
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.copyIn(into: target, rows: [1]) { $1.append($0) }
            }
            #expect(error?.sqlState == .undefinedTable)
            try await expectEmpty(connection)
        }
    }

    @Test(arguments: ["COPY (SELECT 1) TO STDOUT", "CREATE TEMP TABLE t (); COPY t FROM STDIN"])
    func aCopyThatNobodyFeedsOrReadsIsRefused(_ sql: String) async throws {
        try await withConnection { connection in
            let error = await #expect(throws: PostgreSQLError.self) { try await connection.executeScript(unsafe: sql) }
            #expect(error?.code == .usage)
            #expect(!connection.isAlive)
        }
    }

    /// A server that waits for its notices to be read reads nothing itself: both directions must go on.
    @Test(.timeLimit(.minutes(1))) func noticesDuringACopyDoNotStopIt() async throws {
        try await withTable("a bigint") { connection, target in
            try await connection.executeScript(
                unsafe: #"""
                    CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE NOTICE '%', repeat('x', 1000); RETURN new; END $$;
                    CREATE TRIGGER shout BEFORE INSERT ON "Odd"."T x" FOR EACH ROW EXECUTE FUNCTION shout();
                    """#)
            #expect(try await connection.copyIn(into: target, rows: 0..<30_000) { $1.append($0) } == 30_000)
        }
    }

    @Test func aCancelledCopyWritesNothing() async throws {
        try await withTable("a bigint") { connection, target in
            let handed = Handed(value: connection)
            let task = Task {
                let endless = sequence(first: 0) { $0 &+ 1 }
                return try await handed.value.copyIn(into: target, rows: endless) { $1.append($0) }
            }
            try await Task.sleep(for: .milliseconds(50))
            task.cancel()
            let error = await #expect(throws: PostgreSQLError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            try await expectEmpty(connection)
        }
    }

    /// Also shows that the connection is of use.
    private func expectEmpty(_ connection: Connection) async throws {
        let rows = try await connection.query(#"SELECT 1 FROM "Odd"."T x" LIMIT 1"#)
        #expect(rows.isEmpty)
    }
}
