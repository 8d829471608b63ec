import Foundation
import Reconciliation

@testable import Importing

/// Feeds the reader of sales reports, plain or compressed. An input's first byte says in pieces of which size it comes.
enum SalesFuzzing {
    static func decode(_ bytes: [UInt8]) {
        guard let size = bytes.first else { return }
        let reader = SalesReader(Pieces(bytes[1...], size: Int(size) + 1), file: "fuzz")
        Waiting.forEnd {
            while let read = try? await reader.next() {
                for sale in read.sales {
                    precondition(!sale.type.isEmpty && sale.price.map { $0.milliunits >= 0 } ?? true)
                }
            }
        }
    }

    static var seeds: [[UInt8]] {
        let text = Array(([columns] + lines).map { $0.joined(separator: "\t") + "\n" }.joined().utf8)
        return [[2] + text, [250] + text, [250] + gzip]
    }

    private static let columns = [
        "SKU", "Developer", "Title", "Product Type Identifier", "Units", "Developer Proceeds", "Begin Date",
        "End Date", "Customer Currency", "Country Code", "Currency of Proceeds", "Customer Price",
        "Parent Identifier",
    ]

    private static let lines = [
        [
            "gems.60", "Example Games", "60 Gems", "IA1", "12", "0.70", "11/20/2026", "11/20/2026", "USD", "US", "USD",
            "0.99", "game",
        ],
        [
            "gems.300", "Example Games", "300 颗宝石", "IA1-M", "-1", "21", "11/20/2026", "11/20/2026", "CNY", "CN",
            "CNY", "-30", "game",
        ],
        [
            "game", "Example Games", "Game", "1F", "100", "0", "11/20/2026", "11/20/2026", "USD", "US", "USD", "0", " ",
        ],
    ]

    /// `SKU` and a line break, compressed.
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xFF, 0x0B, 0xF6, 0x0E, 0xE5, 0x02, 0x00,
        0x7E, 0x5D, 0x2A, 0xA3, 0x04, 0x00, 0x00, 0x00,
    ]
}
