import Files
import Foundation

/// Sends a run's mail by the system's sendmail.
struct Mailer {
    let settings: MailSettings
    let dependencies: NotifierDependencies

    func send(_ news: RunNews) async throws {
        let (attachments, notes) =
            news.report.map { MailAttachment.ofReport($0, limit: settings.attachmentLimit) } ?? ([], [])
        let text = MailText(news: news, prefix: settings.subjectPrefix)
        let message = MailMessage(
            settings: settings, subject: text.subject, text: text.body(notes: notes), attachments: attachments,
            date: dependencies.now(), id: dependencies.newID())
        // Complete before sendmail reads any of it: a job that is killed meanwhile never sends half a report.
        let file = try Self.emptyFile()
        try message.write(to: file)
        try file.seek(toOffset: 0)
        // The mail itself names the receivers; a line with nothing but a dot doesn't end it.
        let ended = try await ChildProgram(path: settings.sendmail, arguments: ["-t", "-oi"])
            .run(input: file, timeLimit: settings.timeout)
        guard ended.status == 0 else {
            let words = ended.firstWords.isEmpty ? "" : ": \(ended.firstWords)"
            throw NotificationError("\(settings.sendmail) ended with \(ended.status)\(words)")
        }
    }

    /// A file without a name, which disappears as soon as nobody has it open.
    private static func emptyFile() throws(NotificationError) -> FileHandle {
        do {
            let file = try TemporaryFile()
            file.remove()
            return file.handle
        } catch {
            throw NotificationError("no temporary file can be made: \(error)")
        }
    }
}
