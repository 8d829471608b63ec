import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import Ledger

/// Finance's statement of a month has what its functions give to SQL, and the document says what that is.
@Suite struct StatementColumnsTests {
    @Test func aStatementHasEveryColumnOfItsFunctions() async throws {
        try await withLedger { ledger in
            let sources: [StatementSource] = [.liability, .sales, .proceeds, .differences]
            for source in sources {
                let columns = try await ledger.value(
                    "(SELECT proargnames[pronargs + 1:] FROM pg_proc WHERE oid = to_regproc(\(source.function)))",
                    as: [String].self)
                #expect(source.columns.map(\.name) == columns, "\(source.function)")
            }
        }
    }

    @Test func theDocumentSaysWhatEachFigureIs() throws {
        let document = try String(contentsOf: PackageRoot.folder.appending(path: "docs/finance.md"), encoding: .utf8)
        for (name, _) in StatementSource.liability.columns.dropFirst(3) where !name.hasSuffix("_amount") {
            #expect(document.contains("\n| `\(name)` | "), "\(name)")
        }
    }
}
