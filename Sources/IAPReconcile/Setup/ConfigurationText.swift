import Foundation

/// The text of a configuration, in which settings can be set; everything else, comments included, stays as it is.
struct ConfigurationText: Equatable {
    private var lines: [String]
    private let lineEnd: String
    /// What was set, as `[section] key = value`.
    private(set) var changes: [String] = []

    init(_ text: String) {
        // An editor on Windows may have put a byte order mark before the first section, and two characters at the end of
        // each line, which to Swift are one.
        let text = text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text
        lineEnd = text.contains { $0 == "\r\n" } ? "\r\n" : "\n"
        lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
    }

    var text: String { lines.joined(separator: lineEnd) }

    /// Gives a key of a section its value: on the line where it is, otherwise in the comment that shows it, otherwise
    /// at the section's end. A missing section is added.
    mutating func set(_ key: String, to value: String, in section: String) {
        let written = "\(key) = \(value)"
        guard let body = body(of: section) else {
            if lines.last == "" { lines.removeLast() }
            lines += ["", "[\(section)]", written, ""]
            changes.append("[\(section)] \(written)")
            return
        }
        if let line = body.first(where: { Self.key(of: lines[$0]) == key }) {
            guard Self.value(of: lines[line]) != value else { return }
            lines[line] = written
        } else if let line = body.first(where: {
            lines[$0].hasPrefix(";") && Self.key(of: String(lines[$0].dropFirst())) == key
        }) {
            lines[line] = written
        } else {
            let end = body.last { !lines[$0].isEmpty && !Self.isComment(lines[$0]) } ?? body.lowerBound - 1
            lines.insert(written, at: end + 1)
        }
        changes.append("[\(section)] \(written)")
    }

    /// Makes a section with this name, replacing the one that only serves as an example, if that has no settings yet.
    mutating func begin(_ section: String, inPlaceOf example: String) {
        guard body(of: section) == nil else { return }
        if let body = body(of: example), !hasSettings(in: example) {
            lines[body.lowerBound - 1] = "[\(section)]"
        } else {
            if lines.last == "" { lines.removeLast() }
            lines += ["", "[\(section)]", ""]
        }
        changes.append("[\(section)]")
    }

    /// Whether the section has any settings yet.
    func hasSettings(in section: String) -> Bool {
        body(of: section).map { body in body.contains { Self.key(of: lines[$0]) != nil } } ?? false
    }

    /// The lines after a section's head; `nil` if there is no such section.
    private func body(of section: String) -> Range<Int>? {
        guard let head = lines.firstIndex(where: { Self.section(of: $0) == section }) else { return nil }
        let rest = lines[(head + 1)...]
        return head + 1..<(rest.firstIndex { Self.section(of: $0) != nil } ?? lines.count)
    }

    private static func section(of line: String) -> String? {
        let line = line.trimmingCharacters(in: .whitespaces)
        guard line.hasPrefix("["), let end = line.firstIndex(of: "]") else { return nil }
        // Any blanks between its words are one to the parser.
        return line[line.index(after: line.startIndex)..<end].split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
    }

    private static func isComment(_ line: String) -> Bool {
        ["#", ";"].contains { line.trimmingCharacters(in: .whitespaces).hasPrefix($0) }
    }

    private static func key(of line: String) -> String? {
        guard !isComment(line), let sign = line.firstIndex(where: { $0 == "=" || $0 == ":" }) else { return nil }
        return line[..<sign].trimmingCharacters(in: .whitespaces)
    }

    private static func value(of line: String) -> String? {
        guard let sign = line.firstIndex(where: { $0 == "=" || $0 == ":" }) else { return nil }
        return line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces)
    }
}
