import Foundation
import Reconciliation
import Notifications
import Testing

@testable import IAPReconcile

@Suite struct NotificationSectionsTests {
    private static let secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    @Test func everySettingIsRead() throws {
        try withSecret(Self.secret) { secret in
            let telling = try Configuration.parse(
                """
                [webhook]
                url = https://hooks.example.com/a?b=c
                secret_file = \(secret)
                when = trouble
                timeout = 3s
                attempts = 2
                [mail]
                from = 夜班 <night@example.com>
                to = ops@example.com, root
                when = findings
                subject_prefix = 漏单
                sendmail = /usr/bin/msmtp
                attachment_limit = 500k
                timeout = 2m
                [ping]
                start = https://hc.example.com/1/start
                success = https://hc.example.com/1
                failure = https://hc.example.com/1/{code}
                timeout = 2
                [metrics]
                file = /var/lib/node/iap.prom
                """, file: "x"
            ).telling
            let webhook = try #require(telling.webhook)
            #expect(webhook.url == "https://hooks.example.com/a?b=c" && webhook.trigger == .trouble)
            #expect(webhook.timeout == 3 && webhook.attempts == 2)
            let mail = try #require(telling.mail)
            #expect(mail.from == MailAddress("夜班 <night@example.com>"))
            #expect(mail.to.map(\.address) == ["ops@example.com", "root"] && mail.trigger == .findings)
            #expect(mail.subjectPrefix == "漏单" && mail.sendmail == "/usr/bin/msmtp")
            #expect(mail.attachmentLimit == 500_000 && mail.timeout == 120)
            let ping = try #require(telling.ping)
            #expect(ping.start == "https://hc.example.com/1/start" && ping.success == "https://hc.example.com/1")
            #expect(ping.failure == "https://hc.example.com/1/{code}" && ping.timeout == 2)
            #expect(telling.metrics?.file == "/var/lib/node/iap.prom")
        }
    }

    @Test func nobodyIsToldUnlessTheConfigurationSaysSo() throws {
        let telling = try Configuration.parse("[run]\n", file: "x").telling
        #expect(telling.webhook == nil && telling.mail == nil && telling.ping == nil && telling.metrics == nil)
    }

    @Test(
        arguments: [
            ("[webhok]", 1, "unknown section [webhok]; did you mean “webhook”?"),
            ("[mail]\nsubject = x", 2, "unknown key “subject” in [mail]"),
            ("[mail]\nfrm = x@y", 2, "unknown key “frm” in [mail]; did you mean “from”?"),
            ("[run]\n[webhook]\nattempts = 2", 2, "[webhook] needs url, secret_file"),
            ("[mail]\nto = a@b", 1, "[mail] needs from"),
            ("[ping]\ntimeout = 2s", 1, "[ping] needs start, success or failure"),
            ("[metrics]", 1, "[metrics] needs file"),
            (
                "[metrics]\nfile = /var/lib/iap.txt", 2,
                "“file” is a path that ends in .prom, for node_exporter reads no others, not “/var/lib/iap.txt”"
            ),
            ("[mail]\nsendmail = sendmail", 2, "“sendmail” is a path that begins with /, not “sendmail”"),
            (
                "[mail]\nwhen = finding", 2,
                "“when” is always or findings or trouble, not “finding”; did you mean “findings”?"
            ),
            ("[mail]\nattachment_limit = 7", 2, "“attachment_limit” is a size such as 500k or 7M, or 0, not “7”"),
            ("[mail]\nfrom = a b@c", 2, "“from” is a mail address such as “Night job <ops@example.com>”, not “a b@c”"),
            ("[mail]\nto = a@b;c@d", 2, "“to” is mail addresses with commas between them, not “a@b;c@d”"),
        ] as [(String, Int, String)])
    func whatIsWrongIsNamedWithItsLine(text: String, line: Int, message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "x") }
        #expect(error.description == "x:\(line): \(message)")
    }

    /// Who knows such an address may be let in by it.
    @Test(arguments: [
        "ftp://T0KEN", "https://user:T0KEN@example.com/", "https:///T0KEN", "https://example.com/T0KEN#x", "T0KEN",
        "https://example.com/a T0KEN", "https://example.com/ä/T0KEN",
    ])
    func anAddressThatCannotBeAskedIsRefusedAndNotRepeated(address: String) throws {
        for key in ["[webhook]\nurl", "[ping]\nsuccess"] {
            let error = try #require(throws: ConfigurationError.self) {
                try Configuration.parse("\(key) = \(address)", file: "x")
            }
            #expect(error.line == 2 && error.text.contains("is an address such as"))
            #expect(!error.description.contains("T0KEN"))
        }
    }

    @Test func theSecretIsGuardedAsOtherSecretsAre() throws {
        func refusal(_ lines: String) throws -> String {
            try #require(throws: ConfigurationError.self) {
                try Configuration.parse("[webhook]\nurl = https://a.example\n\(lines)", file: "x")
            }.description
        }
        try withSecret("hunter2") { path in
            let text = try refusal("secret_file = \(path)")
            #expect(text.hasSuffix("is no base64 of 24 to 64 bytes; make one by: openssl rand -base64 32"))
            #expect(!text.contains("hunter2"))
        }
        try withSecret(Self.secret, mode: 0o640) { path in
            let text = try refusal("secret_file = \(path)")
            #expect(text.hasSuffix("run: chmod 600 \(path)"))
        }
        #expect(try refusal("secret = hunter2").contains("“secret_file”"))
        #expect(try !refusal("secret = hunter2").contains("hunter2"))
        #expect(try refusal("secret_credential = iap").contains("or use “secret_file”"))
        try withSecret(Self.secret) { path in
            let text = try refusal("secret_file = \(path)\nsecret_credential = iap")
            #expect(text.contains("CREDENTIALS_DIRECTORY") || text.contains("keep one of the two"))
        }
    }

    @Test func aCommandThatTellsNobodyLeavesTheSecretAlone() throws {
        let text = "[webhook]\nurl = https://a.example\nsecret_file = /nonexistent/secret"
        #expect(try Configuration.parse(text, file: "x", secrets: .leftAlone).telling.webhook == nil)
    }

    @Test func aPageIsFoundBelowItsAddress() {
        for address in ["https://r.example/iap", "https://r.example/iap/"] {
            let page = RunNotifications.page(of: "/srv/reports/2026-09-21-run-42", below: address)
            #expect(page == "https://r.example/iap/2026-09-21-run-42/index.html")
        }
    }

    @Test func anErrorThatNobodyForesawIsNotTold() {
        struct Unforeseen: Error { let value = "user-7" }
        let failure = Failure(Unforeseen())
        #expect(failure.message.contains("user-7") && failure.code == .software)
        #expect(!failure.publicMessage.contains("user-7"))
    }

    private func withSecret(_ text: String, mode: Int = 0o600, _ body: (String) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "iap-\(UUID().uuidString)")
            .path(percentEncoded: false)
        defer { try? FileManager.default.removeItem(atPath: file) }
        try write(text, to: file, mode: mode)
        try body(file)
    }
}
