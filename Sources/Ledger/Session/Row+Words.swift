import PostgreSQL

/// Words of lists that a later program may have made longer. One that this program does not know ends what it is doing:
/// left out, or taken for another, it would tell of a purchase what nobody said.
extension Row {
    func word<Word: RawRepresentable<String>>(_ column: String, of list: Word.Type = Word.self) throws -> Word {
        try known(try decode(column, as: String.self), in: column)
    }

    /// `nil` for NULL.
    func wordIfAny<Word: RawRepresentable<String>>(_ column: String, of list: Word.Type = Word.self) throws -> Word? {
        try decode(column, as: String?.self).map { try known($0, in: column) }
    }

    /// None for NULL.
    func words<Word: RawRepresentable<String>>(_ column: String, of list: Word.Type = Word.self) throws -> [Word] {
        try (try decode(column, as: [String]?.self) ?? []).map { try known($0, in: column) }
    }

    /// The word of a list that a value of the column names, or one within that value.
    func known<Word: RawRepresentable<String>>(
        _ text: String, in column: String, of list: Word.Type = Word.self
    ) throws -> Word {
        guard let word = Word(rawValue: text) else { throw unknown("“\(text)”", in: column) }
        return word
    }

    /// - Parameter what: what the column holds.
    func unknown(_ what: String, in column: String) -> LedgerError {
        .failed(
            """
            \(place(of: column)) holds \(what), which this program does not know; install the newer one that wrote it, \
            or mend the row
            """)
    }

    /// A column, and which row it is of, as far as the query tells.
    func place(of column: String) -> String {
        let names = Set(columnNames)
        let key = (Self.keys.first { names.contains($0[0]) } ?? []).compactMap { name in
            text(of: name).map { "\(name) \($0)" }
        }
        return key.isEmpty ? column : "\(column) of \(key.joined(separator: ", "))"
    }

    /// What a receipt was uploaded for is the client's word, and stays out of errors.
    private static let keys = [
        ["receipt_id"], ["run_id"], ["transaction_id", "bundle_id", "environment"], ["bundle_id", "product_id"],
        ["day", "developer"],
    ]

    private func text(of column: String) -> String? {
        if let text = try? decode(column, as: String.self) { return text }
        return (try? decode(column, as: Int64.self)).map { String($0) }
    }
}
