import Foundation
import NightlyRun
import Reconciliation

/// A section `[app BUNDLE]` while it is read.
struct AppSection {
    let bundleID: BundleID
    private var environment = Environment.production
    private var grace: TimeInterval = 3600
    private var graceByType: [ProductType: TimeInterval] = [:]
    private var since: Date?
    private var secret: (key: String, value: Secret?)?

    init(bundleID: BundleID) {
        self.bundleID = bundleID
    }

    var settings: AppSettings {
        let app = App(
            bundleID: bundleID, environment: environment, grace: Grace(grace, byType: graceByType), since: since)
        return AppSettings(app: app, sharedSecret: secret?.value ?? nil)
    }

    /// The keys of such a section.
    static func keys(secrets: Secrets) -> [String: SettingKey<AppSection>] {
        var keys = [
            "environment": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.environment = try setting.choice(["production": .production, "sandbox": .sandbox])
            },
            "shared_secret_file": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                try to.keep(secrets.secret(inFile: setting), of: setting)
            },
            "shared_secret_credential": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                try to.keep(secrets.secret(inCredential: setting), of: setting)
            },
            "shared_secret": SettingKey { (setting, _: inout AppSection) throws(ConfigurationError) in
                throw setting.error(
                    "a secret doesn't belong in this file; put it in a file of its own that only the job may read, "
                        + "and name it with “shared_secret_file”, or use “shared_secret_credential” with systemd")
            },
            "grace": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.grace = try setting.duration()
            },
            "since": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.since = try setting.moment()
            },
        ]
        for type in ProductType.allCases {
            keys["grace_\(type.rawValue)"] = SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.graceByType[type] = try setting.duration()
            }
        }
        return keys
    }

    private mutating func keep(_ value: Secret?, of setting: Setting) throws(ConfigurationError) {
        if let other = secret?.key {
            throw setting.error("“\(other)” already names the shared secret; keep one of the two")
        }
        secret = (setting.key, value)
    }
}
