import Foundation
import Job
import Notifications
import Reconciliation
import Reporting

/// What the configuration file says, parsed and checked.
struct Configuration {
    static let defaultReportDirectory = "/var/lib/iap-reconcile/reports"

    var settings = JobSettings(database: "", apps: [])
    /// The database as the schema's owner reaches it, for `migrate`; `nil` where it is the job's own way.
    var ownerDatabase: String?
    /// The database as the support desk reaches it; `nil` where it is the job's own way.
    var supportDatabase: String?
    /// The database as whoever erases a person's data reaches it; `nil` where it is the job's own way.
    var privacyDatabase: String?
    /// The file of services that connection strings name; `nil` for libpq's own.
    var serviceFile: String?
    var reportDirectory = Self.defaultReportDirectory
    var reportLanguage = ReportLanguage.english
    /// Where browsers find the report directory; `nil` where they don't.
    var reportAddress: String?
    /// Where files of decisions lie that the night takes; `nil` for nowhere.
    var decisionsDirectory: String?
    /// Who is told of a run.
    var telling = NotificationSettings()
}

extension Configuration {
    /// Reads the file.
    static func read(_ path: String, secrets: Secrets) throws(ConfigurationError) -> Configuration {
        let file: RegularFile
        let data: Data
        do {
            file = try RegularFile(path)
            data = try file.read()
        } catch {
            throw ConfigurationError(
                file: path, line: nil, text: "the configuration \(error); name another with --config FILE")
        }
        guard let text = String(data: data, encoding: .utf8), !text.contains("\0") else {
            throw ConfigurationError(file: path, line: nil, text: "the configuration is not text in UTF-8")
        }
        return try parse(
            text, file: path, isReadableByOthers: file.permissions & 0o004 != 0, secrets: secrets)
    }

    /// Parses what a file of this name holds.
    static func parse(
        _ text: String, file: String, isReadableByOthers: Bool = false, secrets: Secrets = .read(credentials: nil)
    ) throws(ConfigurationError) -> Configuration {
        var parser = ConfigurationParser(
            file: file, isReadableByOthers: isReadableByOthers, secrets: secrets)
        for entry in try IniFile.entries(of: text, file: file) { try parser.take(entry) }
        return try parser.finished()
    }
}
