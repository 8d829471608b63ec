import Foundation

/// Cuts a file into records: lines, or several lines joined by quotes. It holds only the current record and a piece
/// read ahead.
struct RecordFramer {
    /// A record, which stays readable until the next one is asked for.
    struct Record: Hashable {
        enum Content: Hashable {
            case bytes(Range<Int>)
            /// The line is longer than the limit, and is skipped.
            case tooLong
            /// It opens a quote that is not closed, or not within the limit of a record. Only this line is given up, as
            /// if the quote were not there.
            case unclosedQuote(Range<Int>)
        }

        /// The line on which it begins, counted from 1.
        let line: Int
        let content: Content
        /// Whether a line feed ends it; if its quote is not closed before the file's end, whether one ends the file.
        let isEnded: Bool
        /// Where its first line ends.
        fileprivate let firstLineEnd: Int
    }

    /// Whether a line break between quotes belongs to a field.
    var isQuoted = false

    private let source: any ByteSource
    private let limit: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var line = 1
    /// How many bytes of the file precede the buffer.
    private var discarded = 0

    init(_ source: any ByteSource, limit: Int) {
        self.source = source
        self.limit = limit
    }

    /// How many bytes of the file were returned.
    var position: Int { discarded + start }

    func withBytes<Value>(_ range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        buffer.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// The first byte that is not a space, after a byte order mark. Called before any record.
    mutating func firstByte() throws -> UInt8? {
        while buffer.count < 3, try source.read(into: &buffer) {}
        if buffer.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        while true {
            let rest = buffer.dropFirst(start)
            if let first = rest.first(where: { !Self.blanks.contains($0) }) { return first }
            guard rest.count <= limit, try source.read(into: &buffer) else { return nil }
        }
    }

    /// Whether the file begins with these bytes, as far as it was read for its first byte.
    func begins(with bytes: [UInt8]) -> Bool { buffer.dropFirst(start).starts(with: bytes) }

    /// The next record that is not a blank line; `nil` at the end.
    mutating func next() throws -> Record? {
        repeat {
            discardWhatWasRead()
            guard let record = try frame() else { return nil }
            guard case .bytes(let range) = record.content, buffer[range].allSatisfy(Self.blanks.contains)
            else { return record }
        } while true
    }

    /// Goes back to the second line of a malformed record, so that one wrong quote costs one line.
    mutating func giveUpAllButFirstLine(of record: Record) {
        start = record.firstLineEnd
        line = record.line + 1
    }

    private static let blanks: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
    private static let quote = UInt8(ascii: "\"")
    private static let newline = UInt8(ascii: "\n")

    private mutating func frame() throws -> Record? {
        var (next, firstLineEnd) = (start, start)
        var lines = 0
        var isOpen = false
        while true {
            switch try endOfLine(from: next) {
            case .endOfFile:
                return lines == 0 ? nil : giveUpFirstLine(firstLineEnd, isEnded: buffer.last == Self.newline)
            case .beyondLimit: return lines == 0 ? try skipLine() : giveUpFirstLine(firstLineEnd, isEnded: true)
            case .at(let end):
                lines += 1
                if isQuoted, !quoteCount(in: next..<end).isMultiple(of: 2) { isOpen.toggle() }
                next = min(end + 1, buffer.count)
                if lines == 1 { firstLineEnd = next }
                if isOpen { continue }
                defer { (start, line) = (next, line + lines) }
                return Record(
                    line: line, content: .bytes(start..<end), isEnded: end < buffer.count, firstLineEnd: firstLineEnd)
            }
        }
    }

    private enum LineEnd {
        /// At its line feed, or at the end of the file.
        case at(Int)
        case endOfFile
        case beyondLimit
    }

    private mutating func endOfLine(from first: Int) throws -> LineEnd {
        var searched = first
        while true {
            if let found = lineFeed(from: searched) { return found - start <= limit ? .at(found) : .beyondLimit }
            searched = buffer.count
            guard searched - start <= limit else { return .beyondLimit }
            guard try source.read(into: &buffer) else { return first < searched ? .at(searched) : .endOfFile }
        }
    }

    private mutating func giveUpFirstLine(_ end: Int, isEnded: Bool) -> Record {
        defer { (start, line) = (end, line + 1) }
        return Record(line: line, content: .unclosedQuote(start..<end), isEnded: isEnded, firstLineEnd: end)
    }

    private mutating func skipLine() throws -> Record {
        while true {
            if let found = lineFeed(from: start) {
                start = found + 1
                break
            }
            start = buffer.count
            discardWhatWasRead()
            guard try source.read(into: &buffer) else { break }
        }
        defer { line += 1 }
        return Record(line: line, content: .tooLong, isEnded: true, firstLineEnd: start)
    }

    /// Moves the rest to the front, once it is little beside what was read.
    private mutating func discardWhatWasRead() {
        guard start >= 1 << 18 || start == buffer.count else { return }
        buffer.removeSubrange(..<start)
        discarded += start
        start = 0
    }

    private func lineFeed(from first: Int) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard first < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + first, Int32(Self.newline), bytes.count - first)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    private func quoteCount(in range: Range<Int>) -> Int {
        buffer.withUnsafeBytes { bytes in
            bytes[range].reduce(0) { $0 + ($1 == Self.quote ? 1 : 0) }
        }
    }
}
