import Commands
import Foundation
import Job
import Reconciliation
import Verification

/// Sets the configuration: how the database is reached, and the app.
struct ConfigurationStep: SetupStep {
    let name = "configuration"
    let path: String
    let login: any LoginStep
    let app: SetupApp?

    /// The app's section in the example.
    private static let exampleApp = "app com.example.game"

    /// Whether a configuration names an app, other than the one that only serves as an example.
    ///
    /// - Throws: `ConfigurationError` if there is one and it can't be read: what it names is not known then.
    static func namesApp(_ path: String) throws(ConfigurationError) -> Bool {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return false }
        let apps = try Configuration.read(path, secrets: .leftAlone).settings.apps.map { "app \($0.app.bundleID)" }
        let text = ConfigurationText(
            String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self))
        return apps.contains { $0 != exampleApp || text.hasSettings(in: exampleApp) }
    }

    func missing() throws -> [String] {
        let edited = try edited()
        _ = try Configuration.parse(edited.text, file: path, secrets: .leftAlone)
        guard let contents = try file.contents else {
            return ["\(path), from the example, \(file.rights)"] + edited.changes
        }
        guard edited.changes.isEmpty else { return ["\(path), \(file.rights)"] + edited.changes }
        return try file.isInPlace(with: contents) ? [] : ["\(path), \(file.rights)"]
    }

    func perform() throws {
        try file.write(Data(try edited().text.utf8))
    }

    /// The folder for the job's reports.
    var reportDirectory: String {
        get throws { try Configuration.parse(try edited().text, file: path, secrets: .leftAlone).reportDirectory }
    }

    /// The secrets that the app's section names, to be put beside it.
    var secrets: [SecretStep] {
        guard let app else { return [] }
        let shared = app.sharedSecretFile.map {
            SecretStep("shared secret", from: $0, to: beside("\(app.bundleID).secret"), of: login.user)
        }
        let key = app.key.map { SecretStep("key", from: $0.file, to: beside("\(app.bundleID).p8"), of: login.user) }
        return [shared, key].compactMap(\.self)
    }

    private func edited() throws -> ConfigurationText {
        let contents = try file.contents ?? Data(PackageResources.iap_reconcile_conf_example)
        var text = ConfigurationText(String(decoding: contents, as: UTF8.self))
        text.set("owner_conninfo", to: login.owner.printable, in: "database")
        for role in LoginRole.allCases { text.set(role.key, to: login.conninfo(of: role), in: "database") }
        if let file = login.serviceFile { text.set("service_file", to: file, in: "database") }
        if let app { write(app, into: &text) }
        return text
    }

    private func write(_ app: SetupApp, into text: inout ConfigurationText) {
        let section = "app \(app.bundleID)"
        text.begin(section, inPlaceOf: Self.exampleApp)
        if app.sharedSecretFile != nil {
            text.set("shared_secret_file", to: beside("\(app.bundleID).secret"), in: section)
        }
        if let key = app.key {
            text.set("server_api_issuer_id", to: key.issuerID, in: section)
            text.set("server_api_key_id", to: key.keyID, in: section)
            text.set("server_api_key_file", to: beside("\(app.bundleID).p8"), in: section)
        }
        if let since = app.since { text.set("since", to: Moment.text(since), in: section) }
    }

    private func beside(_ name: String) -> String {
        URL(filePath: path).deletingLastPathComponent().appending(path: name).path(percentEncoded: false)
    }

    private var file: PlacedFile {
        PlacedFile(path, mode: 0o640, owner: SystemUser(named: "root"), groupOf: login.user)
    }
}
