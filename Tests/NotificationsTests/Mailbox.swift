import Foundation
import TestSupport

@testable import Notifications

/// A folder with a program that takes mails as sendmail does, and keeps them.
struct Mailbox {
    let folder: URL
    var sendmail: String { path("sendmail") }

    func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

    func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    /// The only mail, as Python's email package understands it.
    func mail() async throws -> ParsedMail {
        let json = try await ChildProcess.runSuccessfully("/usr/bin/python3", ["-c", Self.parser, path("mail")])
        return try JSONDecoder().decode(ParsedMail.self, from: Data(json.utf8))
    }

    /// A folder of a test's own, removed at its end.
    ///
    /// - Parameter script: what the program does beside keeping the mail
    static func with<Value>(
        script: String = "", _ body: (Mailbox) async throws -> Value
    ) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "mail-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let mailbox = Mailbox(folder: folder)
        let program = """
            cd "\(folder.path(percentEncoded: false))"
            printf '%s\\n' "$@" > arguments
            env | cut -d= -f1 | sort > environment
            cat > mail
            \(script)
            """
        try await Script.write(program, to: mailbox.sendmail)
        return try await body(mailbox)
    }

    private static let parser = """
        import email, email.policy, hashlib, json, sys
        raw = open(sys.argv[1], "rb").read()
        message = email.message_from_bytes(raw, policy=email.policy.default)
        def walk(part):
            yield part
            for inner in part.iter_parts() if part.is_multipart() else []:
                yield from walk(inner)
        print(json.dumps({
            "headers": [[name, str(value)] for name, value in message.items()],
            "defects": [repr(d) for part in walk(message) for d in part.defects]
                + [repr(d) for _, value in message.items() for d in value.defects],
            "to": [[a.display_name, a.addr_spec] for a in message["To"].addresses],
            "text": message.get_body(("plain",)).get_content(),
            "attachments": [{
                "name": part.get_filename(), "type": part.get_content_type(),
                "hash": hashlib.sha256(part.get_payload(decode=True)).hexdigest(),
            } for part in message.iter_attachments()],
            "longest_line": max(len(line) for line in raw.split(b"\\n")),
            "has_bare_return": b"\\r" in raw, "is_ascii": raw.isascii(),
        }))
        """
}

struct ParsedMail: Decodable {
    struct Attachment: Decodable {
        let name, type, hash: String
    }

    let headers: [[String]]
    let defects: [String]
    let to: [[String]]
    let text: String
    let attachments: [Attachment]
    let longestLine: Int
    let hasBareReturn, isASCII: Bool

    private enum CodingKeys: String, CodingKey {
        case headers, defects, to, text, attachments
        case longestLine = "longest_line"
        case hasBareReturn = "has_bare_return"
        case isASCII = "is_ascii"
    }

    func header(_ name: String) -> String? { headers.first { $0[0] == name }?[1] }

    /// Nothing in it that a strict reader would have to forgive; a spreadsheet's media type is 79 characters long.
    var isClean: Bool { defects.isEmpty && longestLine <= 79 && !hasBareReturn && isASCII }
}
