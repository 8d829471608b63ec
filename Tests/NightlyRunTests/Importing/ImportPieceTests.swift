@testable import Importing
import Ledger
import Reconciliation
import Testing

/// The pieces in which a file is read: a night has memory for no more.
@Suite struct ImportPieceTests {
    private func pieces(_ kind: ImportKind, _ text: String, size: Int) async throws -> [Int] {
        let reader = ImportReader(PiecewiseSource(text.utf8, size: size), kind: kind, file: "-", format: .csv)
        var counts: [Int] = []
        while let read = try await reader.next() { counts.append(read.batch.lines.count + read.refused.count) }
        return counts
    }

    /// Refused lines count: a file may hold no others.
    @Test(arguments: ["gems", ""])
    func aPieceHoldsSoManyLinesAndNoMore(product: String) async throws {
        let lines = String(repeating: "o,com.a,u,\(product)\n", count: 12_000)
        let counts = try await pieces(.orders, "order_id,bundle_id,user_id,product_id\n" + lines, size: 4096)
        #expect(counts == [5_000, 5_000, 2_000])
    }

    @Test func aPieceHoldsSoManyBytesAndNoMore() async throws {
        let line = "com.a," + String(repeating: "x", count: 3 << 20) + "\n"
        let text = "bundle_id,payload\n" + String(repeating: line, count: 4)
        #expect(try await pieces(.receipts, text, size: 1 << 20) == [3, 1])
    }
}
