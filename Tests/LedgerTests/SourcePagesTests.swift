import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import Ledger

/// In what pieces a company's own rows come.
@Suite struct SourcePagesTests {
    /// Whatever came before: the night has a gigabyte for all that it does.
    @Test func greatRowsBehindSmallOnesMakeNoGreatPage() async throws {
        try await withScratchDatabase(empty: true) { database in
            let query = SourceQuery(
                conninfo: database.conninfo,
                text: """
                    SELECT number AS id, repeat('A', CASE WHEN number < 6000 THEN 100 ELSE 200000 END) AS payload
                    FROM generate_series(1, 6600) AS number
                    """,
                watermark: "id")
            let session = try await SourceSession.open(query, known: ["payload"])
            defer { session.close() }
            var (rows, greatest) = (0, 0)
            try await session.forEachPage(from: nil, present: Date()) { page in
                rows += page.rows.count
                greatest = max(greatest, page.rows.reduce(0) { $0 + ($1[0]?.utf8.count ?? 0) })
            }
            #expect(rows == 6600)
            #expect(greatest < 32 << 20)
        }
    }
}
