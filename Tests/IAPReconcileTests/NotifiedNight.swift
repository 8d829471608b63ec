import Foundation
import TestSupport

/// A night that tells everybody of its runs, by every way at once.
extension ProgramNight {
    static let webhookSecret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    /// Adds every way of telling to the configuration: to the server at `url`, to the file `mail`, and to `iap.prom`.
    /// What `sendmail` says is done once the mail is read.
    func tellEverybody(_ url: String, sendmail: String = "") async throws {
        func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }
        try write(Self.webhookSecret, to: path("webhook.secret"), mode: 0o600)
        try await Script.write("cat > \(path("mail"))\n\(sendmail)", to: path("sendmail"))
        let sections = """
            [webhook]
            url = \(url)/hook
            secret_file = \(path("webhook.secret"))
            attempts = 1
            [mail]
            from = night@example.com
            to = ops@example.com
            sendmail = \(path("sendmail"))
            [ping]
            start = \(url)/start
            success = \(url)/success
            failure = \(url)/failure/{code}
            [metrics]
            file = \(path("iap.prom"))

            """
        let told = try String(contentsOfFile: configuration, encoding: .utf8)
            .replacing("[report]\n", with: "[report]\nurl = https://reports.example.com/\n")
        try write(sections + told, to: configuration)
    }

    /// What the file of this name in the night's folder holds.
    func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }

    func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.appending(path: name).path(percentEncoded: false))
    }
}
