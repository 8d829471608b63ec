import Verification
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
    private var storefronts: Set<String> = []
    private var takesNotifications = true
    private var delivery: [ProductType: DeliveryMode] = [:]
    private var secret: (key: String, value: Secret?)?
    private var verification = VerificationMethod.auto
    private var allowsXcode = false
    private var issuerID: String?
    private var keyID: String?
    private var key: (key: String, value: Secret?)?
    private var appAppleID: Int64?
    private var sku: String?

    init(bundleID: BundleID) {
        self.bundleID = bundleID
    }

    /// - Throws: what is wrong with the keys together, in a sentence.
    func settings() throws(Incomplete) -> AppSettings {
        let app = App(
            bundleID: bundleID, environment: environment, grace: Grace(grace, byType: graceByType), since: since,
            storefronts: storefronts, takesNotifications: takesNotifications, delivery: delivery)
        return AppSettings(
            app: app, sharedSecret: secret?.value ?? nil, verification: verification, serverAPI: try serverAPI(),
            allowsXcode: allowsXcode, sku: sku)
    }

    /// Keys that are of no use without others.
    struct Incomplete: Error {
        let text: String
    }

    private func serverAPI() throws(Incomplete) -> ServerAPIAccess? {
        let missing = [
            issuerID == nil ? "server_api_issuer_id" : nil, keyID == nil ? "server_api_key_id" : nil,
            key == nil ? "server_api_key_file" : nil,
        ].compactMap(\.self)
        if missing.count == 3 {
            guard verification != .serverAPI else {
                throw Incomplete(text: "“verification = server-api” needs \(missing.joined(separator: ", "))")
            }
            return nil
        }
        guard let issuerID, let keyID, let key else {
            throw Incomplete(text: "a key for the App Store Server API also needs \(missing.joined(separator: ", "))")
        }
        // Left alone where nobody is asked.
        return key.value.map {
            ServerAPIAccess(issuerID: issuerID, keyID: keyID, key: $0, appAppleID: appAppleID)
        }
    }

    /// The keys of such a section.
    static func keys(secrets: Secrets) -> [String: SettingKey<AppSection>] {
        var keys = [
            "environment": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.environment = try setting.choice(["production": .production, "sandbox": .sandbox])
            },
            "shared_secret_file": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                try Self.keep(secrets.secret(inFile: setting), of: setting, in: &to.secret)
            },
            "shared_secret_credential": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                try Self.keep(secrets.secret(inCredential: setting), of: setting, in: &to.secret)
            },
            "shared_secret": SettingKey { (setting, _: inout AppSection) throws(ConfigurationError) in
                throw setting.error(
                    "a secret doesn't belong in this file; put it in a file of its own that only the job may read, "
                        + "and name it with “shared_secret_file”, or use “shared_secret_credential” with systemd")
            },
            "grace": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.grace = try setting.duration()
            },
            "storefronts": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.storefronts = try setting.storefronts()
            },
            "notifications": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.takesNotifications = try setting.choice(["yes": true, "no": false])
            },
            "sku": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.sku = try setting.nonEmpty()
            },
            "since": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.since = try setting.moment()
            },
        ]
        keys.merge(verificationKeys(secrets: secrets)) { first, _ in first }
        for type in ProductType.allCases {
            keys["grace_\(type.rawValue)"] = SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.graceByType[type] = try setting.duration()
            }
            // A consumable has no time in which it is granted.
            let modes = DeliveryMode.allCases.filter { type != .consumable || $0 != .entitlement }
            keys[type.rawValue] = SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.delivery[type] = try setting.choice(
                    Dictionary(uniqueKeysWithValues: modes.map { ($0.rawValue, $0) }))
            }
        }
        return keys
    }

    private static func verificationKeys(secrets: Secrets) -> [String: SettingKey<AppSection>] {
        [
            "verification": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.verification = try setting.choice(
                    Dictionary(uniqueKeysWithValues: VerificationMethod.allCases.map { ($0.rawValue, $0) }))
            },
            "allow_xcode": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.allowsXcode = try setting.choice(["yes": true, "no": false])
            },
            "server_api_issuer_id": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.issuerID = try setting.nonEmpty()
            },
            "server_api_key_id": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.keyID = try setting.nonEmpty()
            },
            "server_api_key_file": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                try keep(secrets.secret(inFile: setting), of: setting, in: &to.key)
            },
            "server_api_key_credential": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                try keep(secrets.secret(inCredential: setting), of: setting, in: &to.key)
            },
            "app_apple_id": SettingKey { (setting, to: inout AppSection) throws(ConfigurationError) in
                to.appAppleID = Int64(try setting.whole(1...Int.max))
            },
        ]
    }

    private static func keep(
        _ value: Secret?, of setting: Setting, in place: inout (key: String, value: Secret?)?
    ) throws(ConfigurationError) {
        if let other = place?.key {
            throw setting.error("“\(other)” already names this secret; keep one of the two")
        }
        place = (setting.key, value)
    }
}
