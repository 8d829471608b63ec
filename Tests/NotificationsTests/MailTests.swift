import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import Notifications

/// Mails as a real program receives them, read by Python's email package.
@Suite struct MailTests {
    @Test func itBringsTheSummaryThePageAndTheSpreadsheet() async throws {
        try await Mailbox.with { mailbox in
            // More than one piece, and no whole number of lines.
            let page = Data((0..<200_003).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let report = try report(in: mailbox, page: page, sheet: Data("PK sheet".utf8))
            #expect(await told(mailbox, News.complete(report: report)) == [NotificationResult(.mail)])
            let mail = try await mailbox.mail()
            #expect(mail.isClean, "\(mail.defects) \(mail.longestLine)")
            #expect(mail.header("From") == "漏单报告 <night@example.com>")
            #expect(mail.to == [["", "ops@example.com"], ["Smith, \"Sue\"", "sue@example.com"]])
            #expect(
                mail.header("Subject")
                    == "iap-reconcile: 3 likely lost orders (2 new), 230 JPY, 45.98 USD")
            #expect(mail.header("Date") == "Mon, 21 Sep 2026 14:13:20 +0000")
            #expect(mail.header("Message-ID") == "<0f4c0a7e-made-up@example.com>")
            #expect(mail.header("Auto-Submitted") == "auto-generated")
            #expect(mail.text == "summary of 漏单\n.\nuser-7\npage                https://r.example/index.html\n")
            #expect(mail.attachments.map(\.name) == ["index.html", "lost-orders.xlsx"])
            #expect(mail.attachments.map(\.type).first == "text/html")
            #expect(
                mail.attachments.map(\.hash) == [
                    try await hash(mailbox.path("index.html")), try await hash(mailbox.path("lost-orders.xlsx")),
                ])
            #expect(try mailbox.text("arguments") == "-t\n-oi\n")
        }
    }

    @Test func sendmailIsHandedNothingThatItNeedNotKnow() async throws {
        try await Mailbox.with { mailbox in
            #expect(await told(mailbox, News.complete()) == [NotificationResult(.mail)])
            let names = Set(try mailbox.text("environment").split(separator: "\n").map(String.init))
            let allowed: Set = [
                "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_",
            ]
            #expect(names.isSubset(of: allowed), "\(names)")
        }
    }

    @Test func whatIsTooLargeStaysBehindAndTheMailSaysSo() async throws {
        try await Mailbox.with { mailbox in
            let report = try report(in: mailbox, page: Data(count: 2_500_000), sheet: Data(count: 400_000))
            var settings = try settings(mailbox)
            settings.attachmentLimit = 1_000_000
            #expect(await told(settings, News.complete(report: report)) == [NotificationResult(.mail)])
            let mail = try await mailbox.mail()
            #expect(mail.isClean)
            #expect(mail.attachments.map(\.name) == ["lost-orders.xlsx"])
            #expect(
                mail.text.hasSuffix(
                    "\nindex.html is not attached: it has 2.5 MB, and attachments may have 1.0 MB together. "
                        + "It lies in \(report.folder).\n"))
        }
    }

    /// Each of them might fit alone.
    @Test(arguments: [(400_000, true), (400_001, false)])
    func attachmentsFitTogetherOrTheLastStaysBehind(size: Int, isAttached: Bool) async throws {
        try await Mailbox.with { mailbox in
            let report = try report(in: mailbox, page: Data(count: 600_000), sheet: Data(count: size))
            let (attachments, notes) = MailAttachment.ofReport(report, limit: 1_000_000)
            #expect(attachments.map(\.name) == ["index.html"] + (isAttached ? ["lost-orders.xlsx"] : []))
            let note =
                "lost-orders.xlsx is not attached: it has 401 kB, and attachments may have 1.0 MB together. "
                + "It lies in \(report.folder)."
            #expect(notes == (isAttached ? [] : [note]))
        }
    }

    @Test func aReportThatVanishedIsSaidToHave() async throws {
        try await Mailbox.with { mailbox in
            let report = WrittenReport(folder: mailbox.path("none"), url: nil, summary: "summary\n")
            #expect(await told(mailbox, News.complete(report: report)) == [NotificationResult(.mail)])
            let mail = try await mailbox.mail()
            #expect(mail.attachments.isEmpty)
            #expect(mail.text.contains("lost-orders.xlsx is not attached, for it can't be read."))
        }
    }

    @Test func aRunThatFailedIsToldWithItsReason() async throws {
        try await Mailbox.with { mailbox in
            let news = News.failed(.noPermission, because: "no\r\nBcc: evil@example.com")
            #expect(await told(mailbox, news) == [NotificationResult(.mail)])
            let mail = try await mailbox.mail()
            #expect(mail.isClean)
            #expect(mail.header("Subject") == "iap-reconcile: the run failed (exit code 77)")
            #expect(mail.header("Bcc") == nil && mail.text.contains("exit code           77\n"))
        }
    }

    @Test func aTroubledRunSaysSoBesideWhatItFound() {
        var news = News.complete(cases: 1)
        news.exitCode = .tryLater
        #expect(
            MailText(news: news, prefix: "夜").subject
                == "夜: the run ended early (exit code 75), 1 likely lost order (1 new), 230 JPY, 45.98 USD")
        #expect(MailText(news: News.complete(cases: 0), prefix: "x").subject == "x: no likely lost orders")
        #expect(
            MailText(news: News.alarming(cases: 0), prefix: "x").subject
                == "x: ALERT: money lost in com.example.game, no likely lost orders")
    }

    @Test func onlySomeAlertsStandInTheSubject() throws {
        var news = News.alarming(cases: 0)
        let alert = try #require(news.findings?.alerts.first)
        news.findings?.watched = Array(repeating: alert, count: 5)
        let name = "money lost in com.example.game"
        #expect(
            MailText(news: news, prefix: "x").subject
                == "x: ALERT: \(name), \(name), \(name), 2 more, no likely lost orders")
        news.findings?.watched.removeLast(2)
        #expect(
            MailText(news: news, prefix: "x").subject == "x: ALERT: \(name), \(name), \(name), no likely lost orders")
    }

    @Test func onlySomeCurrenciesStandInTheSubject() {
        var news = News.complete(cases: 9)
        news.findings?.cases.money = ["AED", "AUD", "BRL", "CAD", "CHF", "CLP"].map {
            Money(milliunits: 1_000, currency: CurrencyCode($0)!)
        }
        let subject = MailText(news: news, prefix: "x").subject
        #expect(subject.hasSuffix("(2 new), 1.00 AED, 1.00 AUD, 1.00 BRL, 1.00 CAD, 2 more currencies"))
        news.findings?.cases.money.removeLast()
        #expect(MailText(news: news, prefix: "x").subject.hasSuffix("1.00 CAD, 1 more currency"))
    }

    @Test func casesWithoutAPriceStandInTheSubjectToo() {
        var news = News.complete(cases: 3)
        news.findings?.cases.unpriced = 2
        #expect(
            MailText(news: news, prefix: "x").subject
                == "x: 3 likely lost orders (2 new), 230 JPY, 45.98 USD, 2 without a price")
        news.findings?.cases.money = []
        #expect(MailText(news: news, prefix: "x").subject == "x: 3 likely lost orders (2 new), 2 without a price")
    }

    @Test func aProgramThatFailsIsQuoted() async throws {
        try await Mailbox.with(script: "echo 'queue  is full\nsorry' >&2; exit 75") { mailbox in
            let told = await told(mailbox, News.complete())
            #expect(told.first?.failure == "\(mailbox.sendmail) ended with 75: queue is full sorry")
        }
    }

    /// Gigabytes in the time that it is given: its first words are kept, and it goes no faster than it is heard.
    @Test func aProgramThatTalksWithoutEndFillsNoDisk() async throws {
        try await Mailbox.with(script: "yes flood & echo $! > flood; sleep 0.5; kill $!; exit 75") { mailbox in
            let told = await told(mailbox, News.complete())
            #expect(told.first?.failure?.hasPrefix("\(mailbox.sendmail) ended with 75: flood flood") == true)
            #expect((told.first?.failure?.utf8.count ?? 0) < 500)
        }
    }

    @Test func aProgramThatReadsNothingIsNoTrouble() async throws {
        var settings = try MailSettings(
            from: #require(MailAddress("a@b")), to: [#require(MailAddress("c@d"))], sendmail: "/bin/true")
        #expect(await told(settings, News.complete()) == [NotificationResult(.mail)])
        settings.sendmail = "/nonexistent/sendmail"
        #expect(
            await told(settings, News.complete()).first?.failure
                == "/nonexistent/sendmail can't be started: No such file or directory")
    }

    @Test(arguments: ["sleep 60 & wait", "trap '' TERM; sleep 60"])
    func aProgramThatDoesNotEndIsStoppedWithWhatItStarted(script: String) async throws {
        try await Mailbox.with(script: "echo $$ > group; \(script)") { mailbox in
            var settings = try settings(mailbox)
            settings.timeout = 0.5
            let failure = await told(settings, News.complete()).first?.failure
            #expect(failure?.hasSuffix("and was stopped") == true)
            let group = try #require(pid_t(mailbox.text("group").trimmingCharacters(in: .newlines)))
            #expect(kill(-group, 0) == -1 || isDead(group))
        }
    }

    /// What is left of a group after SIGKILL may wait a moment for its new parent.
    private func isDead(_ group: pid_t) -> Bool {
        for _ in 0..<200 where kill(-group, 0) == 0 { usleep(10_000) }
        return kill(-group, 0) == -1
    }

    private func report(in mailbox: Mailbox, page: Data, sheet: Data) throws -> WrittenReport {
        try page.write(to: mailbox.folder.appending(path: "index.html"))
        try sheet.write(to: mailbox.folder.appending(path: "lost-orders.xlsx"))
        return WrittenReport(
            folder: mailbox.folder.path(percentEncoded: false), url: "https://r.example/index.html",
            summary: "summary of 漏单\n.\nuser-7\n")
    }

    private func settings(_ mailbox: Mailbox) throws -> MailSettings {
        MailSettings(
            from: try #require(MailAddress("漏单报告 <night@example.com>")),
            to: try #require(MailAddress.list(#"ops@example.com, "Smith, "Sue"" <sue@example.com>"#)),
            sendmail: mailbox.sendmail)
    }

    private func told(_ mailbox: Mailbox, _ news: RunNews) async -> [NotificationResult] {
        guard let settings = try? settings(mailbox) else { return [] }
        return await told(settings, news)
    }

    private func told(_ settings: MailSettings, _ news: RunNews) async -> [NotificationResult] {
        await Notifier(NotificationSettings(mail: settings), programVersion: "1", dependencies: .hurried()).end(news)
    }

    private func hash(_ path: String) async throws -> String {
        String(try await ChildProcess.runSuccessfully("/usr/bin/sha256sum", [path]).prefix(64))
    }
}
