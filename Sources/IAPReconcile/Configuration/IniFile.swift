import CINIH
import Foundation

/// One line of a configuration that is not blank or a comment.
struct IniEntry: Equatable {
    enum Content: Equatable {
        case section
        case setting(key: String, value: String)
    }

    /// Empty before the first section.
    let section: String
    let content: Content
    let line: Int
}

/// Splits a configuration file, with inih, into the content of each line.
enum IniFile {
    static func entries(of text: String, file: String) throws(ConfigurationError) -> [IniEntry] {
        let reading = IniReading(text)
        let failedLine = withExtendedLifetime(reading) {
            ini_parse_stream(
                { buffer, size, stream in IniReading.at(stream)?.nextLine(into: buffer, size: Int(size)) },
                Unmanaged.passUnretained(reading).toOpaque(),
                { user, _, name, value in IniReading.at(user)?.keep(name: name, value: value) ?? 0 },
                Unmanaged.passUnretained(reading).toOpaque())
        }
        if let line = reading.tooLongLine {
            throw ConfigurationError(
                file: file, line: line,
                text: "the line is longer than \(reading.longest) bytes; where it is a conninfo, use a service file; "
                    + "where it is a query, query_file")
        }
        guard failedLine == 0 else {
            throw ConfigurationError(
                file: file, line: reading.origin(ofHanded: Int(failedLine)),
                text: "neither “[section]” nor “key = value”")
        }
        return reading.entries
    }
}

/// Passes a text to inih line by line, since inih reports neither the line of a setting nor a section without settings,
/// and cuts a section's name at 49 bytes.
private final class IniReading {
    private let lines: [Substring]
    private var next = 0
    private var section = ""
    /// Whether a marker line is passed next: a setting without a name, which stands for the section's beginning.
    private var owesMarker = false
    /// The number in the file of each line that was passed.
    private var origins: [Int] = []
    private(set) var entries: [IniEntry] = []
    private(set) var tooLongLine: Int?
    private(set) var longest = 0

    init(_ text: String) {
        lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    }

    static func at(_ pointer: UnsafeMutableRawPointer?) -> IniReading? {
        pointer.map { Unmanaged<IniReading>.fromOpaque($0).takeUnretainedValue() }
    }

    func origin(ofHanded line: Int) -> Int? {
        origins.indices.contains(line - 1) ? origins[line - 1] : nil
    }

    func nextLine(into buffer: UnsafeMutablePointer<CChar>?, size: Int) -> UnsafeMutablePointer<CChar>? {
        guard let buffer, let line = takeLine() else { return nil }
        // inih reserves space for the line's end and the terminator.
        longest = size - 3
        guard line.utf8.count <= longest else {
            tooLongLine = next
            return nil
        }
        origins.append(next)
        for (index, byte) in (line + "\n\0").utf8.enumerated() { buffer[index] = CChar(bitPattern: byte) }
        return buffer
    }

    func keep(name: UnsafePointer<CChar>?, value: UnsafePointer<CChar>?) -> Int32 {
        guard let name, let value else { return 0 }
        let key = String(cString: name)
        let isMarker = key.isEmpty && lines[next - 1].drop(while: \.isWhitespace).first == "["
        let content: IniEntry.Content = isMarker ? .section : .setting(key: key, value: String(cString: value))
        entries.append(IniEntry(section: section, content: content, line: next))
        return 1
    }

    /// Takes a line without its indentation, by which inih would take it for a continuation of the previous one. A
    /// comment is emptied, so that it may have any length.
    private func takeLine() -> String? {
        if owesMarker {
            owesMarker = false
            return "="
        }
        guard next < lines.count else { return nil }
        let line = lines[next].trimmingCharacters(in: .whitespaces)
        next += 1
        if line.hasPrefix("#") || line.hasPrefix(";") { return "" }
        if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
            // inih would drop it without a word: a setting that stands there would not hold.
            let rest = line[line.index(after: end)...].drop(while: \.isWhitespace)
            guard rest.isEmpty || rest.hasPrefix(";") || rest.hasPrefix("#") else { return "[" }
            section = line[line.index(after: line.startIndex)..<end].trimmingCharacters(in: .whitespaces)
            owesMarker = true
        }
        return line
    }
}
