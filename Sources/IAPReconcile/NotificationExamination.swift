import Commands
import Files
import Foundation
import Notifications

/// Examines whether those who are to be told of a run can be, as far as that shows without telling them.
struct NotificationExamination {
    let settings: NotificationSettings

    var findings: [Doctor.Finding] {
        [settings.webhook.map(finding), settings.mail.map(finding), settings.ping.map(finding)].compactMap(\.self)
            + [settings.metrics.map(finding)].compactMap(\.self)
    }

    private func finding(_ webhook: WebhookSettings) -> Doctor.Finding {
        URL(string: webhook.url)?.isUnencryptedBeyondThisHost ?? false
            ? Doctor.Finding(
                "webhook", .warning, "is signed, but sent without encryption", remedy: "Use an https address.")
            : Doctor.Finding("webhook", .fine, "is signed; its secret can be read")
    }

    private func finding(_ mail: MailSettings) -> Doctor.Finding {
        var status = stat()
        guard stat(mail.sendmail, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(mail.sendmail, X_OK) == 0
        else {
            return Doctor.Finding(
                "mail", .wrong, "\(mail.sendmail) is no program that this user may run",
                remedy: "Install a mail server or msmtp-mta, or name the program with “sendmail” in [mail].")
        }
        let receivers = mail.to.map(\.address).joined(separator: ", ")
        return Doctor.Finding("mail", .fine, "goes to \(receivers) by \(mail.sendmail)")
    }

    private func finding(_ ping: PingSettings) -> Doctor.Finding {
        let missing = [("start", ping.start), ("success", ping.success), ("failure", ping.failure)]
            .filter { $0.1 == nil }.map(\.0)
        return missing.isEmpty || missing == ["start"]
            ? Doctor.Finding("ping", .fine, "is told of success and failure")
            : Doctor.Finding(
                "ping", .warning, "is not told of \(missing.joined(separator: " and "))",
                remedy: "Set \(missing.joined(separator: " and ")) in [ping], unless the service needs none.")
    }

    private func finding(_ metrics: MetricsSettings) -> Doctor.Finding {
        var status = stat()
        guard stat(metrics.file, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR else {
            return Doctor.Finding(
                "metrics", .wrong, "\(metrics.file) is a folder",
                remedy: "Name a file in it with “file” in [metrics], one that ends in “.prom”.")
        }
        let file = URL(filePath: metrics.file)
        let folder = file.deletingLastPathComponent().path(percentEncoded: false)
        guard Folder.mayReplace(file.lastPathComponent, in: folder) else {
            return Doctor.Finding(
                "metrics", .wrong,
                "\(metrics.file) is another user's, and may not be replaced (the folder's sticky bit is set)",
                remedy: "Make the folder belong to the user that runs the job, or move that file away.")
        }
        return Folder.mayWrite(to: folder)
            ? Doctor.Finding("metrics", .fine, "\(folder) is writable")
            : Doctor.Finding(
                "metrics", .wrong, "\(folder) is not there or not writable for this user",
                remedy: "Make the folder that node_exporter reads writable for the user that runs the job.")
    }
}
