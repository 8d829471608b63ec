import Foundation
public import Reconciliation

/// The decisions in the lines of a report's spreadsheet. All are read before any is carried out, so that decisions on
/// the same case can be compared.
public struct DecisionSheet: Sendable {
    /// A line with something in its column of decision or note.
    public enum Line: Hashable, Sendable {
        case decided(DecidedLine)
        case refused(RefusedDecision)
    }

    public let lines: [Line]

    private static let longestRecord = 1 << 20

    /// Reads a file: .xlsx, or CSV as spreadsheets save it.
    ///
    /// - Parameter isStopped: whether the reading was asked to stop.
    /// - Throws: `DecisionFileError`, `CancellationError`.
    public static func read(
        _ file: String, _ vocabulary: DecisionVocabulary, isStopped: @escaping @Sendable () -> Bool
    ) async throws -> DecisionSheet {
        try await read(DecisionFile(file), vocabulary, isStopped: isStopped)
    }

    /// Reads a file that was opened already.
    package static func read(
        _ file: DecisionFile, _ vocabulary: DecisionVocabulary, isStopped: @escaping @Sendable () -> Bool
    ) async throws -> DecisionSheet {
        switch try file.kind() {
        case .csv:
            return try read(named: file.path, vocabulary) {
                try FileSource(file.handle, named: file.path, isStopped: isStopped)
            }
        case .spreadsheet:
            let converted = try await SpreadsheetConversion(file: file).run(isStopped)
            return try read(named: file.path, vocabulary) {
                try FileSource(converted, named: file.path, isStopped: isStopped)
            }
        }
    }

    private static func read(
        named file: String, _ vocabulary: DecisionVocabulary, opening source: () throws -> FileSource
    ) throws -> DecisionSheet {
        do {
            return try read(source(), named: file, vocabulary)
        } catch let error as ImportError {
            throw DecisionFileError.unreadable(file: file, why: error.description)
        }
    }

    /// Reads a file that is CSV already.
    package static func read(
        _ source: some ByteSource, named file: String, _ vocabulary: DecisionVocabulary
    ) throws -> DecisionSheet {
        var framer = RecordFramer(source, limit: longestRecord)
        framer.isQuoted = true
        _ = try framer.firstByte()
        guard let header = try framer.next(), case .bytes(let range) = header.content else {
            throw DecisionFileError.notAReport(file: file, lacking: [.mark, .decision])
        }
        let parser = try framer.withBytes(range) { bytes in
            Result { () throws(DecisionFileError) in try DecisionLineParser(header: bytes, vocabulary, file: file) }
        }.get()
        var lines: [Line] = []
        while let record = try framer.next() {
            switch record.content {
            case .tooLong: lines.append(.refused(RefusedDecision(record.line, .tooLong)))
            case .unclosedQuote: lines.append(.refused(RefusedDecision(record.line, .malformed)))
            case .bytes(let range):
                guard let cells = framer.withBytes(range, { parser.cells(of: $0) }) else {
                    framer.giveUpAllButFirstLine(of: record)
                    lines.append(.refused(RefusedDecision(record.line, .malformed)))
                    continue
                }
                guard let line = parser.line(record.line, cells) else { continue }
                // A file that was not copied whole may end in the middle of a word.
                let isWhole = record.isEnded || !parser.mayBeCut(cells)
                lines.append(isWhole ? line : .refused(RefusedDecision(record.line, .malformed)))
            }
        }
        return DecisionSheet(lines: withoutContradictions(lines))
    }

    /// Refuses decisions on the same case that differ, to ask what was meant.
    private static func withoutContradictions(_ lines: [Line]) -> [Line] {
        var decisions: [TransactionKey: Set<DeskDecision>] = [:]
        for case .decided(let line) in lines { decisions[line.mark.key, default: []].insert(line.decision) }
        return lines.map { line in
            guard case .decided(let decided) = line, decisions[decided.mark.key]?.count ?? 0 > 1 else { return line }
            return .refused(RefusedDecision(decided.number, .contradiction, id: decided.mark.key.id.text))
        }
    }
}

/// A line whose decision can't be carried out, because of what is on it.
public struct RefusedDecision: Hashable, Sendable {
    public let number: Int
    public let reason: DecisionRefusal
    /// The transaction; `nil` if the line doesn't say.
    public let id: String?

    init(_ number: Int, _ reason: DecisionRefusal, id: String? = nil) {
        self.number = number
        self.reason = reason
        self.id = id
    }
}
