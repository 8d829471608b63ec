import Foundation

/// A file of the report, opened as an attachment of a mail.
struct MailAttachment {
    let name: String
    let type: String
    let size: Int
    let handle: FileHandle

    private static let kinds = [
        ("index.html", "text/html; charset=utf-8"),
        ("lost-orders.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ]

    /// The page and the spreadsheet, as far as they fit the limit together, and a line about each that does not.
    static func ofReport(_ report: WrittenReport, limit: Int) -> (attachments: [MailAttachment], notes: [String]) {
        var (attachments, notes, room): ([MailAttachment], [String], Int) = ([], [], limit)
        for (name, type) in kinds {
            guard let handle = FileHandle(forReadingAtPath: "\(report.folder)/\(name)"),
                let size = try? handle.seekToEnd(), (try? handle.seek(toOffset: 0)) != nil
            else {
                notes.append("\(name) is not attached, for it can't be read.")
                continue
            }
            guard size <= room else {
                notes.append(
                    "\(name) is not attached: it has \(Self.text(Int(size))), and attachments may have "
                        + "\(Self.text(limit)) together. It lies in \(report.folder).")
                continue
            }
            room -= Int(size)
            attachments.append(MailAttachment(name: name, type: type, size: Int(size), handle: handle))
        }
        return (attachments, notes)
    }

    private static func text(_ bytes: Int) -> String {
        bytes < 1_000_000
            ? "\((bytes + 999) / 1000) kB"
            : "\((Double(bytes) / 1_000_000).formatted(.number.precision(.fractionLength(1)).locale(Locale(identifier: "en_US_POSIX")))) MB"
    }
}
