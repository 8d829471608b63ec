import Foundation

/// The fields of a mail's header. A value never leaves its field, whatever it holds: line breaks and other control
/// characters become spaces.
enum MailHeader {
    /// RFC 5322 asks for lines of at most 78 characters; RFC 2047 for 76.
    private static let width = 76
    /// The bytes in an encoded word: with its frame and the field's name, it fits on a line.
    private static let wordBytes = 39

    /// A field of free text, such as the subject.
    static func text(_ name: String, _ value: String) -> String {
        let value = withoutControls(value)
        let words = value.split(separator: " ", omittingEmptySubsequences: false)
        let isPlain =
            value.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !value.contains("=?")
            && words.allSatisfy { $0.utf8.count < width - name.utf8.count - 2 && !$0.isEmpty }
        guard isPlain else { return "\(name): \(encoded(value))\n" }
        var (lines, line) = ("", "\(name):")
        for word in words {
            if line.utf8.count + 1 + word.utf8.count > width {
                lines += line + "\n"
                line = ""
            }
            line += " " + word
        }
        return lines + line + "\n"
    }

    /// A field of addresses, each on its own line.
    static func addresses(_ name: String, _ addresses: [MailAddress]) -> String {
        "\(name): " + addresses.map(text).joined(separator: ",\n ") + "\n"
    }

    /// The moment in UTC, in the format of RFC 5322.
    static func date(_ moment: Date) -> String {
        "Date: \(moment.formatted(dateStyle)) +0000\n"
    }

    private static let dateStyle = Date.VerbatimFormatStyle(
        format: """
            \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \
            \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits)
            """,
        locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt, calendar: Calendar(identifier: .gregorian))

    private static func text(_ address: MailAddress) -> String {
        guard let name = address.name.map(withoutControls) else { return address.address }
        let isPlain = name.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !name.contains("=?") && name.count < 60
        guard isPlain else { return "\(encoded(name))\n <\(address.address)>" }
        let escaped = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\"\n <\(address.address)>"
    }

    /// Encodes by RFC 2047, in pieces that each fit on a line and never split a character's bytes.
    private static func encoded(_ text: String) -> String {
        var pieces: [[UInt8]] = [[]]
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if pieces[pieces.count - 1].count + bytes.count > wordBytes { pieces.append([]) }
            pieces[pieces.count - 1] += bytes
        }
        return pieces.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: "\n ")
    }

    private static func withoutControls(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .lineSeparator, .paragraphSeparator: " "
                    default: scalar
                    }
                }))
    }
}
