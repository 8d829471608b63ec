import Foundation
import TestSupport
import Testing

@testable import Notifications

@Suite struct MailHeaderTests {
    static let hostile = [
        "gems\r\nBcc: evil@example.com", "gems\nSubject: other\n\nbody", "a\rb", "=?utf-8?Q?=0ABcc:_evil@example.com?=",
        "漏单\r\nTo: evil@example.com", "\u{85}\u{2028}Bcc: x", String(repeating: "x", count: 3_000),
        String(repeating: "漏单🎮 ", count: 60), "two  spaces ", "\u{0}\u{7F}",
    ]

    /// Whatever a product, user or device is called, a reader finds one subject, and no field beside it.
    @Test(arguments: hostile)
    func aSubjectStaysOneSubject(value: String) async throws {
        let field = MailHeader.text("Subject", value)
        let found = try await fields(field)
        let expected = String(
            String.UnicodeScalarView(
                value.unicodeScalars.map { "\r\n\u{0}\u{7F}\u{85}\u{2028}".unicodeScalars.contains($0) ? " " : $0 }))
        #expect(found == [["Subject", expected]])
        #expect(field.utf8.allSatisfy { $0 == 0x0A || (0x20...0x7E).contains($0) })
        #expect(field.split(separator: "\n").allSatisfy { $0.utf8.count <= 78 })
        #expect(field.split(separator: "\n").dropFirst().allSatisfy { $0.hasPrefix(" ") })
    }

    @Test func aLongSubjectIsFoldedAndReadAsItWas() async throws {
        let subject = (1...40).map { "word\($0)" }.joined(separator: " ")
        #expect(try await fields(MailHeader.text("Subject", subject)) == [["Subject", subject]])
    }

    @Test(arguments: [
        "漏单报告", "Sue \"the\" Smith, Ltd.", "back\\slash", "=?utf-8?Q?x?=", String(repeating: "长", count: 90),
    ])
    func aNameStaysAName(name: String) async throws {
        let address = try #require(MailAddress("\(name) <a@example.com>"))
        let found = try await addresses(MailHeader.addresses("From", [address]))
        #expect(found == [[name, "a@example.com"]])
    }

    @Test(arguments: [
        "", "a b@c", "a@", "@b", "a@b\nBcc: c@d", "a@b>", "<a@b", "x\u{7} <a@b>", "ä@example.com", "a..b@c", "a@-b",
        "a@b, c@d",
    ])
    func whatIsNoAddressIsRefused(text: String) {
        #expect(MailAddress(text) == nil)
    }

    @Test func aListIsTakenApartOutsideOfQuotes() {
        let list = MailAddress.list(#"root, "B, C" <b@x.example>,c@x.example"#)
        #expect(list?.map(\.address) == ["root", "b@x.example", "c@x.example"])
        #expect(list?[1].name == "B, C")
        #expect(MailAddress.list("a@b,") == nil && MailAddress.list("") == nil)
    }

    private func fields(_ header: String) async throws -> [[String]] {
        try await python("[[name, str(value)] for name, value in message.items()]", header + "\nbody\n")
    }

    private func addresses(_ header: String) async throws -> [[String]] {
        // Not by the newer policy, which reads a space between two encoded words of a name.
        try await python(
            "[[str(make_header(decode_header(n))), a] for n, a in getaddresses([classic['From']])]",
            header + "\nbody\n")
    }

    private func python(_ expression: String, _ message: String) async throws -> [[String]] {
        let program = """
            import email, email.policy, json, sys
            from email.header import decode_header, make_header
            from email.utils import getaddresses
            raw = sys.stdin.buffer.read()
            message = email.message_from_bytes(raw, policy=email.policy.default)
            classic = email.message_from_bytes(raw)
            assert message.get_payload() == "body\\n", message.get_payload()
            print(json.dumps(\(expression)))
            """
        let json = try await ChildProcess.runSuccessfully("/usr/bin/python3", ["-c", program], input: message)
        return try JSONDecoder().decode([[String]].self, from: Data(json.utf8))
    }
}
