import Foundation

/// A mail as sendmail reads it: RFC 5322 with MIME parts in base64, and lines that end with a line feed.
struct MailMessage {
    let settings: MailSettings
    let subject: String
    let text: String
    let attachments: [MailAttachment]
    let date: Date
    /// A unique name.
    let id: String

    /// A thousand lines of 76 characters at once: the page may have fifteen megabytes.
    private static let pieceBytes = 57 * 1024

    /// Base64 has no underscore, so no part can hold it.
    private var boundary: String { "=_\(id)" }

    func write(to file: FileHandle) throws {
        try file.write(contentsOf: Data(header.utf8))
        try begin("Content-Type: text/plain; charset=utf-8\n", in: file)
        try file.write(contentsOf: Self.lines(of: Data(text.utf8)))
        for attachment in attachments { try write(attachment, to: file) }
        try file.write(contentsOf: Data("\n--\(boundary)--\n".utf8))
    }

    private var header: String {
        let domain = settings.from.address.split(separator: "@").dropFirst().last ?? "localhost"
        return MailHeader.addresses("From", [settings.from]) + MailHeader.addresses("To", settings.to)
            + MailHeader.text("Subject", subject) + MailHeader.date(date)
            // RFC 3834: nobody should send a notice of absence to a program.
            + "Message-ID: <\(id)@\(domain)>\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
            + "Content-Type: multipart/mixed; boundary=\"\(boundary)\"\n"
    }

    private func begin(_ fields: String, in file: FileHandle) throws {
        try file.write(
            contentsOf: Data("\n--\(boundary)\n\(fields)Content-Transfer-Encoding: base64\n\n".utf8))
    }

    private func write(_ attachment: MailAttachment, to file: FileHandle) throws {
        try begin(
            "Content-Type: \(attachment.type)\n"
                + "Content-Disposition: attachment; filename=\"\(attachment.name)\"\n", in: file)
        var rest = attachment.size
        while rest > 0 {
            let wanted = min(rest, Self.pieceBytes)
            guard let piece = try attachment.handle.read(upToCount: wanted), piece.count == wanted else {
                throw NotificationError("\(attachment.name) became shorter while it was read")
            }
            try file.write(contentsOf: Self.lines(of: piece))
            rest -= wanted
        }
    }

    private static func lines(of data: Data) -> Data {
        data.base64EncodedData(options: [.lineLength76Characters, .endLineWithLineFeed]) + Data("\n".utf8)
    }
}
