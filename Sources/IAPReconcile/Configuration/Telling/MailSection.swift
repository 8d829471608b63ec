import Foundation
import Telling

/// The section `[mail]` while it is read.
struct MailSection {
    private var from: MailAddress?
    private var to: [MailAddress]?
    private var occasion: Occasion?
    private var subjectPrefix: String?
    private var sendmail: String?
    private var attachmentLimit: Int?
    private var timeout: TimeInterval?

    func settings() throws(TellingSections.Incomplete) -> MailSettings {
        guard let from, let to else {
            let missing = [from == nil ? "from" : nil, to == nil ? "to" : nil].compactMap(\.self)
            throw TellingSections.Incomplete(section: "mail", missing: missing)
        }
        var settings = MailSettings(from: from, to: to)
        if let occasion { settings.occasion = occasion }
        if let subjectPrefix { settings.subjectPrefix = subjectPrefix }
        if let sendmail { settings.sendmail = sendmail }
        if let attachmentLimit { settings.attachmentLimit = attachmentLimit }
        if let timeout { settings.timeout = timeout }
        return settings
    }

    static var keys: [String: SettingKey<TellingSections>] {
        [
            "from": SettingKey { setting, to throws(ConfigurationError) in
                to.mail.from = try setting.mailAddress()
            },
            "to": SettingKey { setting, to throws(ConfigurationError) in
                to.mail.to = try setting.mailAddresses()
            },
            "when": SettingKey { setting, to throws(ConfigurationError) in
                to.mail.occasion = try setting.occasion()
            },
            "subject_prefix": SettingKey { setting, to throws(ConfigurationError) in
                to.mail.subjectPrefix = try setting.nonEmpty()
            },
            "sendmail": SettingKey { setting, to throws(ConfigurationError) in
                to.mail.sendmail = try setting.absolutePath()
            },
            "attachment_limit": SettingKey { setting, to throws(ConfigurationError) in
                to.mail.attachmentLimit = try setting.size()
            },
            "timeout": SettingKey { setting, to throws(ConfigurationError) in
                to.mail.timeout = try setting.timeOut()
            },
        ]
    }
}
