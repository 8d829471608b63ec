import Foundation
import Telling

/// The section `[mail]` while it is read.
struct MailSection {
    var from: MailAddress?
    var to: [MailAddress]?
    var occasion: Occasion?
    var subjectPrefix: String?
    var sendmail: String?
    var attachmentLimit: Int?
    var timeout: TimeInterval?

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
}
