import Foundation
import Job
import Reconciliation
import Reporting

/// A log entry with its moment, as a line.
struct LogLine {
    private let entry: LogEntry
    private let moment: Date

    init(_ entry: LogEntry, at moment: Date) {
        self.entry = entry
        self.moment = moment
    }

    func text(as format: LogFormat, isColoured: Bool) -> String {
        switch format {
        case .text: plain(isColoured: isColoured)
        case .json: json
        }
    }

    /// The line without line breaks, escape sequences and the like, with which logged text could pass for another line.
    private func plain(isColoured: Bool) -> String {
        var words = [Moment.text(moment), level(isColoured: isColoured)]
        if let run = entry.runID { words.append("run=\(run)") }
        words.append(Printable.line(entry.message))
        words += entry.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\(Self.quoted($0.value))" }
        return words.joined(separator: " ")
    }

    private func level(isColoured: Bool) -> String {
        let name = entry.level.rawValue
        guard isColoured else { return name }
        let colour =
            switch entry.level {
            case .debug: 2
            case .info: 32
            case .warning: 33
            case .error: 31
            }
        return "\u{1B}[\(colour)m\(name)\u{1B}[0m"
    }

    /// One object on a line; the entry's own fields are in `fields`, so that none can replace another.
    private var json: String {
        struct Line: Encodable {
            let time: String
            let level: String
            let run: Int64?
            let message: String
            let fields: [String: String]?
        }
        let line = Line(
            time: Moment.text(moment), level: entry.level.rawValue, run: entry.runID, message: entry.message,
            fields: entry.fields.isEmpty ? nil : entry.fields)
        return (try? String(json: line)).map { Printable.json($0) } ?? ""
    }

    private static func quoted(_ value: String) -> String {
        let value = Printable.line(value)
        guard value.isEmpty || value.contains(where: { $0 == " " || $0 == "\"" || $0 == "=" }) else { return value }
        return "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
