import Foundation
package import Ledger
package import Reconciliation

/// How the lines of a file are written.
public enum ImportFormat: String, CaseIterable, Sendable {
    /// RFC 4180, with a header.
    case csv
    /// A JSON object a line.
    case jsonl

    /// Goes by the file's name, without that of its compression, otherwise by its first byte.
    init(file: String, firstByte: UInt8?) {
        let name = URL(filePath: file.lowercased())
        self =
            switch (name.pathExtension == "gz" ? name.deletingPathExtension() : name).pathExtension {
            case "csv": .csv
            case "jsonl", "ndjson", "json": .jsonl
            default: firstByte == UInt8(ascii: "{") ? .jsonl : .csv
            }
    }
}

/// A piece of a file: lines that can be taken, and lines that can't.
package struct ReadLines: Sendable {
    package var batch: ImportBatch
    package var refused: [RefusedLine]
    /// How much of the file was read at the end of the piece.
    package var position: Int
}

/// Reads a file in pieces of a few thousand lines, while the previous piece is taken.
package actor ImportReader {
    /// The most bytes of a record: as much as `iap.submit_receipt` keeps of a payload, and something for the other
    /// fields.
    static let longestRecord = 17 << 20
    private static let batchLines = 5_000
    private static let batchBytes = 8 << 20

    /// How the lines are read, once the format is known.
    private enum Parser {
        case csv(CSVLineParser)
        case json(JSONLineParser)
    }

    private let kind: ImportKind
    private let file: String
    private let format: ImportFormat?
    /// Whether nobody is writing the file any more.
    private let isWhole: @Sendable () -> Bool
    private var framer: RecordFramer
    private var parser: Parser?
    /// Whether the reading ended before the end of the file, since the import was asked to stop.
    package private(set) var isStopped = false

    /// - Parameter isWhole: whether nobody is writing the file any more, so that a last line which nothing ends is one.
    package init(
        _ source: sending any ByteSource, kind: ImportKind, file: String, format: ImportFormat?,
        isWhole: @escaping @Sendable () -> Bool = { true }
    ) {
        self.kind = kind
        self.file = file
        self.format = format
        self.isWhole = isWhole
        framer = RecordFramer(source, limit: Self.longestRecord)
    }

    /// The next lines; `nil` at the file's end, or if the import was asked to stop.
    ///
    /// - Throws: `ImportError`, and what the source throws, such as `GunzipSource.Damaged`.
    package func next() throws -> ReadLines? {
        do {
            return try read()
        } catch is CancellationError {
            isStopped = true
            return nil
        }
    }

    private func read() throws -> ReadLines? {
        let parser = try parser ?? begin()
        var refused: [RefusedLine] = []
        var lines: [ImportLine] = []
        let start = framer.position
        while lines.count + refused.count < Self.batchLines, framer.position - start < Self.batchBytes,
            let record = try framer.next()
        {
            let line = read(record, by: parser)
            if !record.isEnded, mayBeCut(line, parser), !isWhole() {
                throw ImportError.unreadable(file: file, why: "it is still being written: its last line has no end")
            }
            switch line {
            case .success(let line): lines.append(line)
            case .failure(let line): refused.append(line)
            }
        }
        guard !lines.isEmpty || !refused.isEmpty else { return nil }
        try refuseCutIDs(of: lines, parser)
        return ReadLines(
            batch: ImportBatch(kind: kind, lines: lines), refused: refused, position: framer.position)
    }

    /// Whether a line that nothing ends may go on. Cut within its last field, one of CSV looks whole, and names another
    /// order. JSON shows where it ends.
    private func mayBeCut(_ line: Result<ImportLine, RefusedLine>, _ parser: Parser) -> Bool {
        switch (parser, line) {
        case (.csv, _), (.json, .failure): true
        case (.json, .success): false
        }
    }

    /// Refuses a file that a spreadsheet wrote with the ids of transactions as numbers.
    private func refuseCutIDs(of lines: [ImportLine], _ parser: Parser) throws(ImportError) {
        guard case .csv = parser, kind.identifying.allSatisfy(\.isTransactionID), let count = CutIDs.count(in: lines)
        else { return }
        throw .unreadable(
            file: file,
            why: "a spreadsheet has cut its ids: all \(count) of more than 15 digits end in 0; write it again from "
                + "where they come, with the column as text")
    }

    /// Learns the format, and a CSV file's columns.
    private func begin() throws -> Parser {
        let first = try framer.firstByte()
        try refuseOtherForms()
        let format = format ?? ImportFormat(file: file, firstByte: first)
        framer.isQuoted = format == .csv
        let parser: Parser =
            switch format {
            case .csv: .csv(try header())
            case .jsonl: .json(JSONLineParser(kind: kind))
            }
        self.parser = parser
        return parser
    }

    /// Refuses a file that has to be unpacked, or saved in another format, before it is imported.
    private func refuseOtherForms() throws(ImportError) {
        if framer.begins(with: [0x1F, 0x8B]) {
            let file = file == "-" ? "FILE" : file
            throw .unreadable(
                file: self.file, why: "it is gzipped; try zcat \(file) | iap-reconcile import \(kind.rawValue) -")
        }
        if framer.begins(with: Array("PK\u{3}\u{4}".utf8)) {
            throw .unreadable(file: file, why: "it is a spreadsheet or an archive; save it as CSV with commas")
        }
        if framer.begins(with: [0xFF, 0xFE]) || framer.begins(with: [0xFE, 0xFF]) {
            throw .unreadable(file: file, why: "it is UTF-16; save it as CSV UTF-8")
        }
    }

    private func header() throws -> CSVLineParser {
        guard let record = try framer.next() else { throw ImportError.noHeader(file: file) }
        guard case .bytes(let range) = record.content else {
            throw ImportError.badHeader(file: file, why: "is no line of CSV as RFC 4180 has it")
        }
        let result = framer.withBytes(range) { bytes in
            Result { () throws(ImportError) in try CSVLineParser(header: bytes, kind: kind, file: file) }
        }
        return try result.get()
    }

    private func read(_ record: RecordFramer.Record, by parser: Parser) -> Result<ImportLine, RefusedLine> {
        switch record.content {
        case .tooLong:
            return refuse(
                record, LineProblem(.tooLong, "the line has more than \(Self.longestRecord >> 20) MiB"))
        case .unclosedQuote:
            return refuse(record, LineProblem(.malformed, "the line opens a quote that is never closed"))
        case .bytes(let range):
            guard let parsed = parse(range, by: parser) else {
                framer.giveUpAllButFirstLine(of: record)
                return refuse(record, LineProblem(.malformed, "the line's quotes are not as RFC 4180 has them"))
            }
            if let problem = parsed.problem { return refuse(record, problem, parsed.fields) }
            do throws(LineProblem) {
                let row = try ImportedRow(parsed.fields, kind: kind)
                return .success(
                    ImportLine(number: record.line, row: row, name: parsed.fields.id(of: kind) ?? "\(record.line)"))
            } catch {
                return refuse(record, error, parsed.fields)
            }
        }
    }

    private func parse(_ range: Range<Int>, by parser: Parser) -> ParsedLine? {
        framer.withBytes(range) { bytes in
            switch parser {
            case .csv(let csv): csv.parse(bytes)
            case .json(let json): json.parse(bytes)
            }
        }
    }

    private func refuse(
        _ record: RecordFramer.Record, _ problem: LineProblem, _ fields: LineFields = LineFields()
    ) -> Result<ImportLine, RefusedLine> {
        let id = fields.id(of: kind)
        return .failure(
            RefusedLine(
                line: record.line, reason: problem.reason, id: id, numbers: id == nil ? numbers(in: record) : [],
                text: problem.text))
    }

    /// The numbers of a line that may tell of a delivery.
    private func numbers(in record: RecordFramer.Record) -> [String] {
        guard kind.tellsOfDeliveries else { return [] }
        switch record.content {
        case .bytes(let range), .unclosedQuote(let range): return framer.withBytes(range) { LineNumbers.of($0) }
        case .tooLong: return []
        }
    }
}

/// Thrown, so that each line that is read is either taken or refused.
extension RefusedLine: Error {}
