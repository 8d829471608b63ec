import Foundation
import Reconciliation

/// Reads the lines of a report's list, by its headings.
struct DecisionLineParser {
    /// The content of a cell.
    private enum Cell {
        case text(String)
        /// Not UTF-8, or with a NUL.
        case noText
    }

    private typealias Places = [DecisionVocabulary.Column: Int]

    private static let longestNote = 10_000

    private let vocabulary: DecisionVocabulary
    private let reader: CSVRecordReader
    private let places: Places
    /// How many headings there are. A line may have fewer cells: some programs leave out empty ones at its end.
    private let width: Int

    /// Reads the headings, with the separator that gives the most of them.
    init(header: UnsafeRawBufferPointer, _ vocabulary: DecisionVocabulary, file: String) throws(DecisionFileError) {
        self.vocabulary = vocabulary
        func reading(_ separator: Unicode.Scalar) -> (reader: CSVRecordReader, headings: [String?], places: Places) {
            let reader = CSVRecordReader(separator: UInt8(ascii: separator))
            let headings = reader.fields(of: header) ?? []
            return (reader, headings, Self.places(of: headings, vocabulary))
        }
        // Spreadsheets separate cells differently, depending on the country.
        let byComma = reading(",")
        let readings = [byComma, reading(";"), reading("\t")]
        let best = readings.reduce(byComma) { $1.places.count > $0.places.count ? $1 : $0 }
        let lacking = [DecisionVocabulary.Column.mark, .decision].filter { best.places[$0] == nil }
        guard lacking.isEmpty else {
            if readings.contains(where: { $0.headings.contains(nil) }) {
                throw .unreadable(
                    file: file, why: "its headings are not UTF-8, but perhaps GBK; save it as CSV UTF-8, or as .xlsx")
            }
            guard !best.headings.isEmpty || !CSVRecordReader.isOfCRAlone(header) else {
                throw .unreadable(file: file, why: "its lines end with CR alone; save it as CSV UTF-8, or as .xlsx")
            }
            throw .notAReport(file: file, lacking: lacking)
        }
        let repeated = Self.repeated(among: best.headings, vocabulary)
        guard repeated.isEmpty else { throw .repeatedColumns(file: file, repeated) }
        reader = best.reader
        places = best.places
        width = best.headings.count
    }

    /// The columns that are there more than once: what was decided may stand in any of them.
    private static func repeated(
        among headings: [String?], _ vocabulary: DecisionVocabulary
    ) -> [DecisionVocabulary.Column] {
        let known = headings.compactMap { $0.flatMap { vocabulary.column(trimmed($0)) } }
        return DecisionVocabulary.Column.allCases.filter { column in known.filter { $0 == column }.count > 1 }
    }

    private static func places(of headings: [String?], _ vocabulary: DecisionVocabulary) -> Places {
        let known = headings.enumerated().compactMap { place, heading in
            heading.flatMap { vocabulary.column(trimmed($0)) }.map { ($0, place) }
        }
        return Dictionary(known, uniquingKeysWith: { first, _ in first })
    }

    /// `nil` if the bytes are no record of CSV.
    func cells(of record: UnsafeRawBufferPointer) -> [String?]? { reader.fields(of: record) }

    /// Whether the decision of a last line that nothing ends may be cut: “deliver” of “delivered”. A case's mark and a
    /// transaction show by themselves whether they are whole.
    func mayBeCut(_ cells: [String?]) -> Bool { cells.count < width || places[.decision] == cells.count - 1 }

    /// What a line decides; `nil` if nothing was added to it.
    func line(_ number: Int, _ cells: [String?]) -> DecisionSheet.Line? {
        let (mark, decision, note) = (cell(.mark, cells), cell(.decision, cells), cell(.note, cells))
        if case .text("") = decision, case .text("") = note { return nil }
        var id: String?
        do throws(Refusal) {
            guard case .text(let mark) = mark, case .text(let word) = decision, case .text(let note) = note else {
                throw Refusal(.notText)
            }
            guard ![mark, word, note].contains(where: { $0.hasPrefix("=") }) else { throw Refusal(.formula) }
            guard let mark = CaseMark(mark) else { throw Refusal(.noCase) }
            id = mark.key.id.text
            if case .text(let told) = cell(.transaction, cells), places[.transaction] != nil, told != id {
                throw Refusal(.otherTransaction)
            }
            guard !word.isEmpty else { throw Refusal(.noDecision) }
            guard let decision = vocabulary.decision(word) else { throw Refusal(.unknownWord) }
            guard note.utf8.count <= Self.longestNote else { throw Refusal(.tooLong) }
            return .decided(DecidedLine(number: number, mark: mark, decision: decision, note: note))
        } catch {
            return .refused(RefusedDecision(number, error.reason, id: id))
        }
    }

    private struct Refusal: Error {
        let reason: DecisionRefusal

        init(_ reason: DecisionRefusal) {
            self.reason = reason
        }
    }

    /// The content of a cell; a missing one is empty.
    private func cell(_ column: DecisionVocabulary.Column, _ cells: [String?]) -> Cell {
        guard let place = places[column], cells.indices.contains(place) else { return .text("") }
        return cells[place].map { .text(Self.trimmed($0)) } ?? .noText
    }

    /// The text without surrounding spaces, and without the apostrophe that keeps an id a text.
    private static func trimmed(_ text: String) -> String {
        let bare = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return bare.hasPrefix("'") ? String(bare.dropFirst()) : bare
    }
}
