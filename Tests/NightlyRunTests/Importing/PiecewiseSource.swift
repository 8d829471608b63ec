@testable import Importing

/// Bytes that come in pieces of one size.
final class PiecewiseSource: ByteSource {
    private var rest: ArraySlice<UInt8>
    private let size: Int

    init(_ bytes: some Sequence<UInt8>, size: Int = 7) {
        rest = ArraySlice(Array(bytes))
        self.size = size
    }

    func read(into buffer: inout [UInt8]) -> Bool {
        let piece = rest.prefix(size)
        buffer += piece
        rest = rest.dropFirst(size)
        return !piece.isEmpty
    }
}

extension RecordFramer {
    /// All records, as line number and text; a problem stands for the text.
    mutating func all() throws -> [String] {
        var records: [String] = []
        while let record = try next() {
            switch record.content {
            case .bytes(let range):
                records.append("\(record.line) " + withBytes(range) { String(decoding: $0, as: UTF8.self) })
            case .tooLong: records.append("\(record.line) too long")
            case .unclosedQuote: records.append("\(record.line) unclosed")
            }
        }
        return records
    }
}
