import Foundation
import Reconciliation

@testable import Importing

/// Feeds the reader of imported files. An input's first byte says what kind of file it is, the second in pieces of
/// which size it comes.
struct ImportFuzzing: Sendable {
    let format: ImportFormat

    @Sendable func decode(_ bytes: [UInt8]) {
        guard bytes.count > 2 else { return }
        let kind = ImportKind.allCases[Int(bytes[0]) % ImportKind.allCases.count]
        let file = bytes[2...]
        let source = Pieces(file, size: Int(bytes[1]) + 1)
        let reader = ImportReader(source, kind: kind, file: "fuzz", format: format)
        Waiting.forEnd {
            var position = 0
            do {
                while let lines = try await reader.next() { position = lines.position }
            } catch {
                return
            }
            precondition(position <= file.count, "more was read than there is")
        }
    }

    var seeds: [[UInt8]] {
        ImportKind.allCases.enumerated().flatMap { number, kind in
            [UInt8(2), 250].map { size in [UInt8(number), size] + Array(file(of: kind).utf8) }
        }
    }

    private func file(of kind: ImportKind) -> String {
        let rows = [Self.values, Self.values.mapValues { "\($0)\n\"," }]
        let columns = kind.fieldsByColumn.keys.sorted()
        switch format {
        case .csv:
            let lines = rows.map { row in columns.map { Self.quoted(row[$0] ?? "") }.joined(separator: ",") }
            return ([columns.joined(separator: ",")] + lines).joined(separator: "\r\n") + "\n"
        case .jsonl:
            return rows.compactMap { row in
                (try? JSONEncoder().encode(row.filter { columns.contains($0.key) })).map {
                    String(decoding: $0, as: UTF8.self) + "\n"
                }
            }.joined()
        }
    }

    private static func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\"\""))\"" }

    private static let values = [
        "bundle_id": "com.example.game", "product_id": "gems.60", "type": "consumable", "name": "60 宝石",
        "list_price_milliunits": "990", "currency": "USD", "order_id": "order-1", "user_id": "user-7",
        "quantity": "1", "app_account_token": "7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60",
        "created_at": "2026-09-21T14:13:20Z", "transaction_id": "370000000000001",
        "original_transaction_id": "370000000000001", "purchased_at": "1790000000000",
        "delivered_at": "2026-09-21 14:13:20+08", "environment": "Production", "payload": "MIITdummy",
        "device": #"{"model":"iPhone15,2"}"#, "submitted_at": "1790000000",
    ]
}
