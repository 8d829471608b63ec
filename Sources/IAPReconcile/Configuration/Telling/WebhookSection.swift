import Verification
import Foundation
import NightlyRun
import Telling

/// The section `[webhook]` while it is read.
struct WebhookSection {
    private var url: String?
    private var secret: (key: String, value: SigningKey?)?
    private var occasion = Occasion.always
    private var timeout: TimeInterval = 10
    private var attempts = 5
    private var certificateAuthorities: String?

    /// - Returns: nothing where secrets are left alone, for then nobody is told
    func settings() throws(TellingSections.Incomplete) -> WebhookSettings? {
        guard let url, let secret else {
            let missing = [url == nil ? "url" : nil, secret == nil ? "secret_file" : nil].compactMap(\.self)
            throw TellingSections.Incomplete(section: "webhook", missing: missing)
        }
        return secret.value.map {
            WebhookSettings(
                url: url, key: $0, occasion: occasion, timeout: timeout, attempts: attempts,
                certificateAuthorities: certificateAuthorities)
        }
    }

    static func keys(secrets: Secrets) -> [String: SettingKey<TellingSections>] {
        [
            "url": SettingKey { setting, to throws(ConfigurationError) in
                to.webhook.url = try setting.secretAddress()
            },
            "secret_file": SettingKey { setting, to throws(ConfigurationError) in
                try to.webhook.keep(secrets.secret(inFile: setting), of: setting)
            },
            "secret_credential": SettingKey { setting, to throws(ConfigurationError) in
                try to.webhook.keep(secrets.secret(inCredential: setting), of: setting)
            },
            "secret": SettingKey { setting, _ throws(ConfigurationError) in
                throw setting.error(
                    "a secret doesn't belong in this file; put it in a file of its own that only the job may read, "
                        + "and name it with “secret_file”, or use “secret_credential” with systemd")
            },
            "when": SettingKey { setting, to throws(ConfigurationError) in
                to.webhook.occasion = try setting.occasion()
            },
            "timeout": SettingKey { setting, to throws(ConfigurationError) in
                to.webhook.timeout = try setting.timeOut()
            },
            "attempts": SettingKey { setting, to throws(ConfigurationError) in
                to.webhook.attempts = try setting.whole(1...10)
            },
            "certificate_authorities": SettingKey { setting, to throws(ConfigurationError) in
                to.webhook.certificateAuthorities = try setting.readableFile()
            },
        ]
    }

    private mutating func keep(_ value: Secret?, of setting: Setting) throws(ConfigurationError) {
        if let other = secret?.key {
            throw setting.error("“\(other)” already names this secret; keep one of the two")
        }
        var key: SigningKey?
        if let value {
            key = SigningKey(value.plainText)
            guard key != nil else {
                throw setting.error(
                    "the secret “\(setting.text)” is no base64 of 24 to 64 bytes; make one by: openssl rand -base64 32")
            }
        }
        secret = (setting.key, key)
    }
}
