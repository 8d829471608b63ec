import Reconciliation

/// Reads the records of a CSV file by its header.
struct CSVLineParser {
    private let columns: [ImportField]
    private let reader = CSVRecordReader()

    /// Reads the header.
    init(header: UnsafeRawBufferPointer, kind: ImportKind, file: String) throws(ImportError) {
        guard let names = reader.fields(of: header) else {
            let isOfCRAlone = CSVRecordReader.isOfCRAlone(header)
            throw .badHeader(
                file: file,
                why: isOfCRAlone
                    ? "ends with CR alone; save the file as CSV UTF-8" : "is no line of CSV as RFC 4180 has it")
        }
        let known = names.compactMap(\.self)
        guard known.count == names.count else {
            throw .badHeader(file: file, why: "is not UTF-8; save the file as CSV UTF-8")
        }
        if known.count == 1, let separator = [";", "\t"].first(where: known[0].contains) {
            let name = separator == "\t" ? "tabs" : "“\(separator)”"
            throw .badHeader(file: file, why: "has \(name) between its columns; save it with commas")
        }
        do throws(ImportError) {
            columns = try kind.fields(inColumns: known)
        } catch {
            throw .badColumns(file: file, error)
        }
    }

    /// `nil` if the bytes are no record of CSV.
    func parse(_ record: UnsafeRawBufferPointer) -> ParsedLine? {
        guard let texts = reader.fields(of: record) else { return nil }
        var line = ParsedLine()
        guard texts.count == columns.count else {
            line.problem = LineProblem(
                .malformed, "the line has \(texts.count) fields and the header \(columns.count)")
            return line
        }
        for (field, text) in zip(columns, texts) {
            line.fields[field] = text
            if text == nil, line.problem == nil {
                line.problem = LineProblem(.notText, "\(field.column) is not UTF-8, or holds a NUL")
            }
        }
        return line
    }
}
