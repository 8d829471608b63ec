@testable import Importing
import SimulatedWorld

/// Lines of a sales report, by column.
struct SalesText {
    var columns = [
        "Provider", "SKU", "Developer", "Title", "Product Type Identifier", "Units", "Developer Proceeds", "Begin Date",
        "End Date", "Customer Currency", "Country Code", "Currency of Proceeds", "Customer Price", "Parent Identifier",
    ]
    var lines: [[String: String]] = []
    var lineEnd = "\n"

    /// A sale of one product, but for what is said otherwise.
    static func line(_ fields: [String: String] = [:]) -> [String: String] {
        let usual = [
            "Provider": "APPLE", "SKU": "gems", "Developer": "Us", "Title": "宝石 “60”", "Product Type Identifier": "IA1",
            "Units": "1", "Developer Proceeds": "0.70", "Begin Date": "11/20/2026", "End Date": "11/20/2026",
            "Customer Currency": "USD", "Country Code": "US", "Currency of Proceeds": "USD", "Customer Price": "0.99",
            "Parent Identifier": "GAME",
        ]
        return usual.merging(fields) { $1 }
    }

    init(_ lines: [String: String]...) {
        self.lines = lines.map { Self.line($0) }
    }

    init(lines: [[String: String]]) {
        self.lines = lines
    }

    var text: String {
        ([columns] + lines.map { line in columns.map { line[$0] ?? " " } })
            .map { $0.joined(separator: "\t") + lineEnd }.joined()
    }

    var bytes: [UInt8] { Array(text.utf8) }
}

/// All that a reader made of a file.
func readSales(_ bytes: some Sequence<UInt8>, pieces: Int = 1 << 16) async throws -> ReadSales {
    let reader = SalesReader(PiecewiseSource(Array(bytes), size: pieces), file: "report.txt")
    var all = ReadSales()
    while let read = try await reader.next() {
        all.sales += read.sales
        all.others += read.others
        all.otherDays.formUnion(read.otherDays)
        all.refused += read.refused
    }
    return all
}
