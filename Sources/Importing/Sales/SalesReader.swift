package import Reconciliation

/// A piece of a sales report: each line is a sale, something else, or refused.
package struct ReadSales: Sendable {
    package var sales: [SalesLine] = []
    /// Lines that are not sales of an in-app purchase.
    package var others = 0
    /// The days and accounts of those lines.
    package var otherDays: Set<SalesDay> = []
    package var refused: [RefusedLine] = []

    package var lines: Int { sales.count + others + refused.count }
}

/// Reads a sales report in pieces of a few thousand lines.
package actor SalesReader {
    /// The most bytes of a line: Apple's fields come to less than a third.
    package static let longestLine = 1 << 16
    private static let batchLines = 5_000

    private let file: String
    private let mostBytes: Int
    private var framer: RecordFramer
    private var parser: SalesLineParser?

    /// - Parameter mostBytes: the most that a compressed report may have once it is decompressed.
    package init(_ source: sending any ByteSource, file: String, mostBytes: Int = .max) {
        self.file = file
        self.mostBytes = mostBytes
        framer = RecordFramer(GunzipSource(source, most: mostBytes), limit: Self.longestLine)
    }

    /// The next lines; `nil` at the file's end.
    ///
    /// - Throws: `SalesError`; `CancellationError` if the reading was asked to stop.
    package func next() throws -> ReadSales? {
        do {
            return try read()
        } catch is GunzipSource.Damaged {
            throw SalesError.damaged(file: file)
        } catch is GunzipSource.TooLarge {
            throw SalesError.tooLarge(file: file, limit: mostBytes)
        } catch let error as ImportError {
            throw SalesError(error, file: file)
        }
    }

    private func read() throws -> ReadSales? {
        let parser = try parser ?? begin()
        var read = ReadSales()
        while read.lines < Self.batchLines, let record = try framer.next() { try take(record, parser, into: &read) }
        return read.lines > 0 ? read : nil
    }

    private func begin() throws -> SalesLineParser {
        guard try framer.firstByte() != nil, let record = try framer.next() else { throw SalesError.empty(file: file) }
        guard case .bytes(let range) = record.content else {
            throw SalesError.missingColumns(SalesColumn.allCases.filter(\.isRequired).map(\.name), file: file)
        }
        let header = framer.withBytes(range) { bytes in
            Result { () throws(SalesError) in try SalesHeader(bytes, file: file) }
        }
        let parser = SalesLineParser(header: try header.get())
        self.parser = parser
        return parser
    }

    private func take(_ record: RecordFramer.Record, _ parser: SalesLineParser, into read: inout ReadSales) throws {
        guard case .bytes(let range) = record.content else {
            let problem = LineProblem(.tooLong, "the line has more than \(Self.longestLine >> 10) KiB")
            return read.refused.append(RefusedLine(record.line, problem))
        }
        let parsed = framer.withBytes(range) { bytes in Result { try parser.parse(bytes) } }
        do {
            switch try parsed.get() {
            case .sale(let line): read.sales.append(line)
            case .other(let day):
                read.others += 1
                read.otherDays.insert(day)
            }
        } catch let problem as LineProblem {
            let sku = framer.withBytes(range) { parser.sku(of: $0) }
            read.refused.append(RefusedLine(record.line, problem, id: sku))
        } catch let week as SalesLineParser.NotDaily {
            throw SalesError.notDaily(file: file, line: record.line, begin: week.begin, end: week.end)
        }
    }
}

extension RefusedLine {
    fileprivate init(_ line: Int, _ problem: LineProblem, id: String? = nil) {
        self.init(line: line, reason: problem.reason, id: id, text: problem.text)
    }
}
