import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite struct SQLTests {
    @Test func interpolatedValuesBecomeParameters() {
        let sql: SQL = "SELECT \(1), \("two") WHERE \(nil as Int?) IS NULL"
        #expect(sql.description == "SELECT $1, $2 WHERE $3 IS NULL")
    }

    @Test func nestedStatementsAreNumberedThrough() {
        let condition: SQL = "bucket = \(7) AND user_id = \("u")"
        let sql: SQL = "SELECT \(0) WHERE \(condition) LIMIT \(5)"
        #expect(sql.description == "SELECT $1 WHERE bucket = $2 AND user_id = $3 LIMIT $4")
    }

    @Test func statementsCanBePutTogether() {
        var sql: SQL = "SELECT \(1)"
        sql += ", \(2)"
        sql.append(", \(3)")
        #expect((sql + " ORDER BY 1").description == "SELECT $1, $2, $3 ORDER BY 1")
    }

    @Test func identifiersAreQuoted() {
        #expect("SELECT \(identifier: #"a"; DROP"#)" as SQL == #"SELECT "a""; DROP""#)
        #expect(("SELECT \(unsafe: "now()")" as SQL).description == "SELECT now()")
    }

    @Test func descriptionHoldsNoValue() {
        let sql: SQL = "SELECT \("a secret")"
        #expect(!String(describing: sql).contains("secret"))
    }

    @Test(arguments: [
        "'; DROP TABLE victim; --", #"\'; DROP TABLE victim; --"#, "$1", "%s", "''", #"" OR 1=1"#, "\u{1F4B0}é\n\t", "",
    ])
    func whatLooksLikeSQLStaysAValue(_ text: String) async throws {
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            try await connection.execute("CREATE TABLE victim (\(identifier: text + "c") text)")
            try await connection.execute("INSERT INTO victim VALUES (\(text))")
            let rows = try await connection.query("SELECT * FROM victim WHERE \(identifier: text + "c") = \(text)")
            let found = try rows.map { try $0(text + "c", as: String.self) }
            #expect(found == [text])
        }
    }

    /// libpq would send what stands before it, which may mean much more.
    @Test func sqlWithANULIsRefusedHere() async throws {
        try await withConnection { connection in
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.query("SELECT 1\(unsafe: "\0") WHERE false")
            }
            #expect(error?.code == .usage)
            let script = await #expect(throws: PostgreSQLError.self) {
                try await connection.executeScript(unsafe: "SELECT 1\0 WHERE false")
            }
            #expect(script?.code == .usage)
        }
    }

    @Test func tooManyValuesAreRefusedHere() async throws {
        var sql: SQL = "SELECT \(0)"
        for number in 1...65_535 { sql += ", \(number)" }
        let statement = sql
        try await withScratchDatabase(empty: true) { database in
            let connection = try await database.connect()
            let error = await #expect(throws: PostgreSQLError.self) { try await connection.query(statement) }
            #expect(error?.code == .usage)
        }
    }
}

extension SQL {
    fileprivate static func == (left: SQL, right: String) -> Bool { left.description == right }
}
