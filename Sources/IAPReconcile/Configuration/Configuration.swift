import Foundation
import Job
import Notifications
import Reconciliation
import Reporting

/// The content of the configuration file, parsed and checked.
struct Configuration {
    static let defaultReportDirectory = "/var/lib/iap-reconcile/reports"

    var settings = JobSettings(database: "", apps: [])
    /// How the schema's owner reaches the database, for `migrate`; `nil` if as the job does.
    var ownerDatabase: String?
    /// How the support desk reaches the database; `nil` if as the job does.
    var supportDatabase: String?
    /// How whoever erases a person's data reaches the database; `nil` if as the job does.
    var privacyDatabase: String?
    /// The file of the services that connection strings name; `nil` for libpq's own.
    var serviceFile: String?
    var reportDirectory = Self.defaultReportDirectory
    var reportLanguage = ReportLanguage.english
    /// The URL of the report directory for browsers; `nil` if there is none.
    var reportAddress: String?
    /// The folder of decision files for the night to take; `nil` for none.
    var decisionsDirectory: String?
    /// Who is told of a run.
    var telling = NotificationSettings()
}

extension Configuration {
    /// More than anybody configures: a database or a log, named by mistake, is not read whole.
    private static let mostBytes = 4 << 20

    /// Reads the file.
    static func read(_ path: String, secrets: Secrets) throws(ConfigurationError) -> Configuration {
        let file: RegularFile
        let data: Data
        do throws(RegularFile.Problem) {
            file = try RegularFile(path)
            data = try file.read(upTo: mostBytes + 1)
        } catch {
            let making = error.isOfNoFile ? "let “iap-reconcile setup” make one, or " : ""
            throw ConfigurationError(
                file: path, line: nil, text: "the configuration \(error); \(making)name another with --config FILE")
        }
        guard data.count <= mostBytes else {
            throw ConfigurationError(
                file: path, line: nil,
                text: "the configuration is larger than \(mostBytes >> 20) MiB, as none is; "
                    + "name another with --config FILE")
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
