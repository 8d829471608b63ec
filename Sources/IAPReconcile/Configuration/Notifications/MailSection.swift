import Foundation
import Notifications

/// The section `[mail]` while it is being read.
struct MailSection {
    var from: MailAddress?
    var to: [MailAddress]?
    var trigger: NotificationTrigger?
    var subjectPrefix: String?
    var sendmail: String?
    var attachmentLimit: Int?
    var timeout: TimeInterval?

    func settings() throws(NotificationSections.Incomplete) -> MailSettings {
        guard let from, let to else {
            let missing = [from == nil ? "from" : nil, to == nil ? "to" : nil].compactMap(\.self)
            throw NotificationSections.Incomplete(section: "mail", missing: missing)
        }
        var settings = MailSettings(from: from, to: to)
        if let trigger { settings.trigger = trigger }
        if let subjectPrefix { settings.subjectPrefix = subjectPrefix }
        if let sendmail { settings.sendmail = sendmail }
        if let attachmentLimit { settings.attachmentLimit = attachmentLimit }
        if let timeout { settings.timeout = timeout }
        return settings
    }
}
