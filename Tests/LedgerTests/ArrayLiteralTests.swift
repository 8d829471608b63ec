import PostgreSQL
import TestSupport
import Testing

@testable import Ledger

/// What the database reads of an array that was written as text is what was written.
@Suite struct ArrayLiteralTests {
    @Test func isReadAsItWasWritten() async throws {
        let arrays: [[String]] = [
            [], [""], ["a"], ["NULL", "null", "{}", "{", "}"], ["a,b", " a ", "\"", "\\", "\\\"\\", "'", "''"],
            ["\n", "\t", "e\u{301}", "漏单", "👩‍👧", "$1", "\\x41"], Array(repeating: "x", count: 1000),
        ]
        try await withScratchDatabase { database in
            let connection = try await database.connect()
            for array in arrays {
                let row = try #require(
                    try await connection.query("SELECT \(ArrayLiteral(array).text)::text[] AS read").first)
                #expect(try row.decode("read", as: [String].self) == array)
            }
        }
    }
}
