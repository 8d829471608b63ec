import Foundation

/// The values of a command line's options, read as their types.
struct OptionValues {
    private let values: [String: String]

    init(_ values: [String: String]) {
        self.values = values
    }

    func has(_ name: String) -> Bool { values[name] != nil }

    /// The most bytes of a person's text that the database takes: see `iap.require_text`.
    private static let longest = ["note": 10_000, "by": 1_000, "user": 1_000, "order": 1_000]

    /// A text that may not be blank.
    func text(_ name: String) throws(UsageError) -> String? {
        guard let text = values[name] else { return nil }
        guard !text.allSatisfy(\.isWhitespace) else { throw UsageError("--\(name) needs a value") }
        try Self.checkLength(of: text, as: name, called: "--\(name)")
        return text
    }

    /// Refuses a text that is longer than the database takes what an option of that name tells.
    static func checkLength(of text: String, as name: String, called what: String) throws(UsageError) {
        guard let longest = Self.longest[name], text.utf8.count > longest else { return }
        throw UsageError("\(what) has \(text.utf8.count) bytes; it has at most \(longest)")
    }

    /// A text that must be given; if it is missing, the error asks the option's question.
    func needed(_ option: OptionForm) throws(UsageError) -> String {
        if let text = try text(option.name) { return text }
        throw UsageError("\(option.label) is missing" + (option.question.map { ": \($0)" } ?? ""))
    }

    /// A whole number, 1 or more.
    func number<Number: FixedWidthInteger>(_ name: String) throws(UsageError) -> Number? {
        guard let text = values[name] else { return nil }
        guard let number = Number(text), number > 0 else {
            throw UsageError("--\(name) is a whole number from 1 on, not “\(text)”")
        }
        return number
    }

    /// A moment in ISO 8601, with its time zone.
    func moment(_ name: String) throws(UsageError) -> Date? {
        guard let text = values[name] else { return nil }
        guard let moment = Moment.parse(text) else {
            throw UsageError("--\(name) is a moment such as 2026-11-21T03:00:00Z, not “\(text)”")
        }
        return moment
    }

    /// One of a few words.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String) throws(UsageError) -> Choice? {
        guard let text = values[name] else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: " or ")
            throw UsageError("--\(name) is \(words), not “\(text)”")
        }
        return choice
    }
}
