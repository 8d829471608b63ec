package import Foundation
package import Reconciliation

/// The texts of one line by their fields, from CSV or JSON. An empty text counts as none, and so does `\N`, which MySQL
/// and PostgreSQL write for NULL. For an id of a transaction, so do 0 and the words that programs write for NULL.
package struct LineFields {
    private var texts = [String?](repeating: nil, count: ImportField.allCases.count)

    package init() {}

    /// The text of a field; `nil` if the line has none.
    package subscript(field: ImportField) -> String? {
        get {
            let text = texts[field.rawValue]
            return field.isTransactionID && text.map(Self.isPlaceholder) == true ? nil : text
        }
        set {
            let isGuarded = field.isOfApples || field == .name && newValue.map(Self.isGuardedFormula) ?? false
            let text = isGuarded ? newValue.map(Self.withoutGuard) : newValue
            texts[field.rawValue] = text == "" || text == #"\N"# ? nil : text
        }
    }

    /// What tables and programs write where there is no id, in lower case.
    private static let placeholders: Set<String> = ["0", "null", "none", "nan", "nil"]

    /// Whether a text stands for no id. As an original transaction's it would make one purchase of all that have none.
    private static func isPlaceholder(_ text: String) -> Bool {
        text.utf8.count <= 4 && placeholders.contains(text.lowercased())
    }

    /// The text without what keeps an id a text in a spreadsheet: the apostrophe, which a report's CSV writes, or
    /// `="…"`, which others write, around an empty cell, too.
    private static func withoutGuard(_ text: String) -> String {
        if text.hasPrefix("'") { return String(text.dropFirst()) }
        guard text.hasPrefix("=\""), text.hasSuffix("\""), text.utf8.count > 2 else { return text }
        return String(text.dropFirst(2).dropLast())
    }

    /// Whether a text begins with an apostrophe in front of what a spreadsheet would take for a formula, as
    /// `products --suggest` writes a name such as “+100 Gems”.
    private static func isGuardedFormula(_ text: String) -> Bool {
        text.hasPrefix("'") && SpreadsheetFormula.begins(Substring(text.unicodeScalars.dropFirst()))
    }

    /// The line's id for the account of refused lines: without the blanks with which some tables pad it, and no longer
    /// than an index holds, however many marks a character has.
    package func id(of kind: ImportKind) -> String? {
        let texts = kind.identifying.lazy.compactMap { self[$0]?.trimmingCharacters(in: .whitespaces) }
        return texts.first { !$0.isEmpty }.map { String(String.UnicodeScalarView($0.unicodeScalars.prefix(100))) }
    }

    /// The numbers in all its texts.
    package var numbers: [String] { LineNumbers.of(texts.compactMap(\.self).joined(separator: "\n").utf8) }
}

/// What could be read of a line, and what is wrong with it, if anything.
struct ParsedLine {
    var fields = LineFields()
    var problem: LineProblem?
}

/// Reading of each field as its type.
extension LineFields {
    /// The most bytes of a text that an index must hold, as in `iap.require_text`.
    private static let longestText = 1000

    /// The text of a field that must be there.
    package func required(_ field: ImportField) throws(LineProblem) -> String {
        if let text = self[field] { return text }
        let why = texts[field.rawValue].map { ": “\($0)” is no id of Apple's" } ?? ""
        throw LineProblem(.missing, "\(field.column) is missing\(why)")
    }

    /// The text of a field, no longer than an index holds.
    package func text(_ field: ImportField) throws(LineProblem) -> String? {
        guard let text = self[field] else { return nil }
        guard text.utf8.count <= Self.longestText else {
            throw LineProblem(.badValue, "\(field.column) has more than \(Self.longestText) bytes")
        }
        guard !field.isOwnID || !Self.isRounded(text) else { throw Self.rewritten(field) }
        return text
    }

    /// The text of a field that must be there, no longer than an index holds.
    package func requiredText(_ field: ImportField) throws(LineProblem) -> String {
        _ = try required(field)
        return try text(field) ?? ""
    }

    /// An id of Apple's, which must be there.
    package func id<Kind: IDKind>(_ field: ImportField) throws(LineProblem) -> TextID<Kind> {
        guard let id = TextID<Kind>(try required(field)) else {
            throw LineProblem(
                .badValue, "\(field.column) is no id of Apple's: 1 to \(Kind.longest) visible ASCII characters")
        }
        return id
    }

    /// A transaction's id, which must be there and must not be rounded.
    package func transactionID(_ field: ImportField) throws(LineProblem) -> TransactionID {
        let id: TransactionID = try id(field)
        _ = try unrounded(field)
        return id
    }

    /// A transaction's id, which must not have been turned into a number by a spreadsheet: such a number names another
    /// purchase, or none.
    package func unrounded(_ field: ImportField) throws(LineProblem) -> String? {
        guard let text = try text(field), Self.isRewritten(text) else { return try text(field) }
        throw Self.rewritten(field)
    }

    private static func rewritten(_ field: ImportField) -> LineProblem {
        LineProblem(
            .badValue,
            "\(field.column) is a number that a spreadsheet rounded or wrote in its own way; format the column as text")
    }

    /// Whether a text is a number as spreadsheets round one of twelve digits or more, such as 1.00201E+11. An app's own
    /// ids may hold anything else, fractions among it.
    private static func isRounded(_ text: String) -> Bool {
        guard text.utf8.contains(UInt8(ascii: "+")) else { return false }
        return text.wholeMatch(of: /[0-9](?:[.,][0-9]+)?[eE][+][0-9]{2,3}/) != nil
    }

    /// Whether a text is a number with more than its digits: an exponent, a fraction, groups of thousands.
    private static func isRewritten(_ text: String) -> Bool {
        guard !text.utf8.allSatisfy(\.isDigit) else { return false }
        return text.wholeMatch(of: /[+-]?[0-9]+(?:[.,'’\s][0-9]+)*(?:[eE][+-]?[0-9]+)?/) != nil
    }

    /// An account token, in its normalized form.
    package func token(_ field: ImportField) throws(LineProblem) -> String? {
        guard let text = self[field] else { return nil }
        guard let token = AppAccountToken.normalized(text) else {
            throw LineProblem(.badValue, "\(field.column) is no UUID")
        }
        return token
    }

    /// The quantity; 1 if the line has none.
    package func quantity() throws(LineProblem) -> Int32 {
        guard let text = self[.quantity] else { return 1 }
        guard let number = Int32(text), number > 0 else {
            throw LineProblem(.badValue, "quantity is no whole number from 1 on")
        }
        return number
    }

    /// The moment in a field.
    package func time(_ field: ImportField) throws(LineProblem) -> Date? {
        guard let text = self[field] else { return nil }
        do {
            return try ImportedTime.parse(text)
        } catch {
            throw LineProblem(.badValue, "\(field.column) \(error.rawValue)")
        }
    }

    /// The moment in a field that must be there.
    package func requiredTime(_ field: ImportField) throws(LineProblem) -> Date {
        guard let time = try time(field) else { throw LineProblem(.missing, "\(field.column) is missing") }
        return time
    }

    /// One of a few words.
    package func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ field: ImportField, or otherwise: Choice? = nil
    ) throws(LineProblem) -> Choice {
        if self[field] == nil, let otherwise { return otherwise }
        guard let choice = Choice(rawValue: try required(field)) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw LineProblem(.badValue, "\(field.column) is none of \(words)")
        }
        return choice
    }

    /// An amount and its currency; either both are there or neither.
    package func price() throws(LineProblem) -> Money? {
        switch (self[.listPriceMilliunits], self[.currency]) {
        case (nil, nil): return nil
        case (nil, _): throw LineProblem(.missing, "currency has no list_price_milliunits")
        case (_, nil): throw LineProblem(.missing, "list_price_milliunits has no currency")
        case (let amount?, let currency?):
            guard let milliunits = Int64(amount), (0...Money.most).contains(milliunits) else {
                throw LineProblem(.badValue, "list_price_milliunits is no whole number from 0 to \(Money.most)")
            }
            guard let code = CurrencyCode(currency) else {
                throw LineProblem(.badValue, "currency is no code of three capital letters")
            }
            return Money(milliunits: milliunits, currency: code)
        }
    }

    /// JSON in the form that PostgreSQL takes.
    package func device() throws(LineProblem) -> String? {
        guard let text = self[.device] else { return nil }
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)), let kept = value.text else {
            throw LineProblem(.badValue, "device is no JSON that PostgreSQL can store")
        }
        return kept
    }
}
