@testable import Importing
import Foundation
import Ledger
import Reconciliation
import TestSupport
import Testing

/// Files broken at random, the same in every run: each is read to its end, and each of its lines taken or refused.
@Suite struct AlteredFilesTests {
    private static let scraps = [
        "\"", "\"\"", "\",\"", ",", "\r\n", "\n", "\0", "\u{FEFF}", "\\N", "\\u0000", "\\ud800", "{", "}", "[[[[[[[[",
        ":",
        "1e400", "99999999999999999999", "-1", "null", "2026-11-01T00:00:00Z", "{\"a\":", "\u{1B}[2J", "\u{202E}",
    ]
    private static let line: [(String, String)] = [
        ("bundle_id", "com.example.game"), ("payload", "MIIT"), ("user_id", "安娜"),
        ("transaction_id", "370000000000001"),
        ("order_id", "o\n1"), ("device", #"{"model":"iPhone15,2"}"#), ("submitted_at", "1790000000"),
    ]

    @Test(arguments: ImportFormat.allCases)
    func areReadToTheirEnd(format: ImportFormat) async throws {
        let original = try Self.file(format)
        var altering = Altering(seed: 20_261_121, scraps: Self.scraps)
        var (taken, refused) = (0, 0)
        for number in 0..<1_500 {
            let bytes = altering.alter(original)
            let reader = ImportReader(
                PiecewiseSource(bytes, size: number % 200 + 1), kind: .receipts, file: "x", format: format)
            var position = 0
            do {
                while let lines = try await reader.next() {
                    #expect(lines.position > position)
                    position = lines.position
                    taken += lines.batch.lines.count
                    refused += lines.refused.count
                }
            } catch {
                // A broken header is the only reason to read nothing.
                #expect(format == .csv && error is ImportError)
            }
            #expect(position <= bytes.count)
        }
        // Otherwise the alterations would be too coarse, or too fine.
        #expect(taken > 1_000 && refused > 500)
    }

    private static func file(_ format: ImportFormat) throws -> [UInt8] {
        switch format {
        case .csv:
            let row = line.map { "\"\($0.1.replacing("\"", with: "\"\""))\"" }.joined(separator: ",") + "\r\n"
            return Array((line.map(\.0).joined(separator: ",") + "\r\n" + row + row + row).utf8)
        case .jsonl:
            let row = try JSONEncoder().encode(Dictionary(uniqueKeysWithValues: line)) + Data("\n".utf8)
            return Array(row + row + row)
        }
    }
}
