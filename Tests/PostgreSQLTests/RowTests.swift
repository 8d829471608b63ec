import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite struct RowTests {
    private func row(_ sql: SQL) async throws -> Row {
        try await withConnection { connection in
            try await connection.executeScript(unsafe: "CREATE TYPE pg_temp.mood AS ENUM ('glad', 'sad')")
            return try await connection.query(sql)[0]
        }
    }

    @Test func textualTypesAreStrings() async throws {
        let row = try await row(
            """
            SELECT 'a'::text AS a, 'b'::varchar AS b, 'c'::name AS c, '{"d": 1}'::json AS d, '{"e": 1}'::jsonb AS e,
                'glad'::pg_temp.mood AS f, 'g' AS g, '{h,NULL}'::varchar[] AS h, '{glad}'::pg_temp.mood[] AS i
            """)
        let expected = ["a", "b", "c", #"{"d": 1}"#, #"{"e": 1}"#, "glad", "g"]
        #expect(try row.columnNames.prefix(7).map { try row($0, as: String.self) } == expected)
        #expect(try row("h", as: [String?].self) == ["h", nil])
        #expect(try row("i", as: [String].self) == ["glad"])
    }

    @Test func integersWidenAndMustFit() async throws {
        let row = try await row("SELECT 1::smallint AS small, 70000 AS medium, 5000000000 AS large")
        #expect(try row("small", as: Int.self) == 1)
        #expect(try row("medium", as: Int64.self) == 70_000)
        #expect(try row("large", as: Int.self) == 5_000_000_000)
        #expect(try row("small", as: Int16.self) == 1)
        let error = #expect(throws: PostgreSQLError.self) { try row("large", as: Int32.self) }
        #expect(error?.description.contains("its value does not fit") == true)
    }

    @Test(arguments: [
        "0", "1", "-1", "10000", "0.0001", "-123456789.987654321", "99999999999999999999999999999999999999", "1e-30",
        "100000000000000000000", "1.50",
    ])
    func numericsAreExact(_ text: String) async throws {
        let row = try await row("SELECT \(unsafe: text)::numeric AS n")
        #expect(try row("n", as: Decimal.self) == Decimal(string: text))
    }

    @Test(arguments: ["'NaN'", "'Infinity'", "1e50 + 0.1"])
    func numericsThatAreNoDecimalAreRefused(_ text: String) async throws {
        let row = try await row("SELECT (\(unsafe: text))::numeric AS n")
        #expect(throws: PostgreSQLError.self) { try row("n", as: Decimal.self) }
    }

    @Test func enumsAreReadAsTheirRawValue() async throws {
        let row = try await row("SELECT \(Mood.sad)::pg_temp.mood AS mood, 'odd' AS odd")
        #expect(try row("mood", as: Mood.self) == .sad)
        #expect(throws: PostgreSQLError.self) { try row("odd", as: Mood.self) }
    }

    @Test func aWrongTypeNamesColumnAndTypes() async throws {
        let row = try await row("SELECT 1 AS amount, ARRAY[1] AS list, now()::timestamp AS local_time")
        let error = #expect(throws: PostgreSQLError.self) { try row("amount", as: String.self) }
        #expect(error?.code == .decoding)
        #expect(error?.column == "amount")
        #expect(error?.message == #"Column "amount", integer, can't be read as String: the types differ."#)
        #expect(throws: PostgreSQLError.self) { try row("list", as: [String].self) }
        #expect(throws: PostgreSQLError.self) { try row("local_time", as: Date.self) }
    }

    @Test func anUnexpectedNullIsNamed() async throws {
        let row = try await row("SELECT NULL::bigint AS amount, ARRAY['a', NULL] AS list")
        let error = #expect(throws: PostgreSQLError.self) { try row("amount", as: Int.self) }
        #expect(error?.message == #"Column "amount", bigint, can't be read as Int: it is NULL."#)
        #expect(throws: PostgreSQLError.self) { try row("list", as: [String].self) }
    }

    @Test func aMissingColumnListsThoseThatAreThere() async throws {
        let row = try await row("SELECT 1 AS a, 2 AS b")
        let error = #expect(throws: PostgreSQLError.self) { try row("c", as: Int.self) }
        #expect(error?.message == #"There is no column "c" in the result; it has a, b."#)
    }

    @Test func nullsBesideValuesKeepTheirPlaces() async throws {
        let row = try await row("SELECT NULL::text AS a, 'b' AS b, NULL::text AS c, '' AS d, 'e' AS e, NULL::text AS f")
        let values = try row.columnNames.map { try row($0, as: String?.self) }
        #expect(values == [nil, "b", nil, "", "e", nil])
    }

    @Test func rowsComeOneByOne() async throws {
        try await withConnection { connection in
            var sum = 0
            try await connection.forEachRow("SELECT n FROM generate_series(1, \(10_000)) AS n") { sum += try $0("n") }
            #expect(sum == 50_005_000)
        }
    }

    @Test func whatStopsTheRowsIsThrownAndTheConnectionGoesOn() async throws {
        struct Enough: Error {}
        try await withConnection { connection in
            var seen = 0
            await #expect(throws: Enough.self) {
                try await connection.forEachRow("SELECT generate_series(1, 2000000000) AS n") { _ in
                    seen += 1
                    if seen == 3 { throw Enough() }
                }
            }
            #expect(seen == 3)
            let rows = try await connection.query("SELECT 1 AS one")
            #expect(rows.count == 1)
        }
    }

    @Test func anErrorAmongTheRowsComesAfterThem() async throws {
        try await withConnection { connection in
            var seen = 0
            await #expect(throws: PostgreSQLError.self) {
                try await connection.forEachRow("SELECT 1 / (4 - n) FROM generate_series(1, 9) AS n") { _ in seen += 1 }
            }
            #expect(seen == 3)
        }
    }
}

private enum Mood: String, ParameterValue, ColumnValue { case glad, sad }
