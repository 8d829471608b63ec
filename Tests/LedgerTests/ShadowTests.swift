import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import Ledger

/// A statement of the night names either what a dry run shadows (`transactions`) or, past the shadow and on purpose,
/// what is stored (`\(stored: .transactions)`). One forgotten name would make a dry run write, or read what is stale.
@Suite struct ShadowTests {
    /// The folders whose statements no dry run carries out.
    private static let othersFolders = [
        "Examining", "Importing", "Integrity", "Retention", "Sales", "Schema", "Sources", "SupportDesk",
    ]
    private static let shadowed = StoredTable.allCases.map(\.rawValue).joined(separator: "|")

    @Test func theNightsStatementsNameNoTablePastItsShadowByAccident() throws {
        let name = try Regex("(^|[^:'\\w])iap\\.(\(Self.shadowed))\\b(?!\\()")
        for (file, line) in try nightsLines()
        where file != "DryRun.swift" && !line.drop(while: \.isWhitespace).hasPrefix("///") {
            #expect(!line.contains(name), "\(file): \(line)")
        }
    }

    /// A shadow's rows are of a type of its own, which no function of the ledger's takes.
    @Test func theNightsStatementsHandOnRowsAsTheLedgersType() throws {
        let row = try Regex("\\b(iap|audit)\\.\\w+\\((\(Self.shadowed))[,)]")
        for (file, line) in try nightsLines() {
            #expect(!line.contains(row), "\(file): \(line)")
        }
    }

    /// The lines of all files whose statements a dry run may carry out.
    private func nightsLines() throws -> [(file: String, line: Substring)] {
        let folder = PackageRoot.folder.appending(path: "Sources/Ledger")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var looked = 0
        var lines: [(file: String, line: Substring)] = []
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let parts = file.pathComponents
            guard !Self.othersFolders.contains(parts[parts.count - 2]) else { continue }
            looked += 1
            lines += try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                .map { (file.lastPathComponent, $0) }
        }
        #expect(looked > 21)
        return lines
    }

    /// The functions that the night calls write by the caller's search path.
    @Test(arguments: [
        "08_places", "10_moves", "11_moved_cases", "12_owed_once", "23_batch_heard", "24_batch_seen", "25_batch",
        "27_released", "44_covered", "49_notices", "50_customers", "51_unproved", "52_prices", "53_answers",
    ])
    func theNightsFunctionsWriteToNoTablePastItsShadow(file: String) throws {
        let sql = try String(
            contentsOf: PackageRoot.folder.appending(path: "sql/migrations/0001_ledger/\(file).sql"), encoding: .utf8)
        let write = try Regex("(INSERT INTO|UPDATE|DELETE FROM)\\s+iap\\.(\(Self.shadowed))\\b")
        #expect(!sql.contains(write))
        // A row's lock is followed by a word of SQL, a write by a table's name.
        #expect(sql.contains(try Regex("(INSERT INTO|UPDATE|DELETE FROM)\\s+[a-z]")))
    }

    /// Autovacuum never looks at a session's own tables: without that the planner knows nothing of what is in them.
    @Test func thePlannerLooksAtTheShadows() async throws {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            try await session.shadowTables()
            try await session.analyzeGrown()
            let rows = try await session.connection.query(
                """
                SELECT relname::text AS name FROM pg_class
                WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r' AND relname <> 'receipts' AND reltuples < 0
                """)
            #expect(try rows.map { try $0("name", as: String.self) } == [])
        }
    }
}
