import Foundation
import Notifications
import Verification

/// The section `[webhook]` while it is being read.
struct WebhookSection {
    var url: String?
    var secret: GivenSecret<SigningKey>?
    var trigger = NotificationTrigger.always
    var timeout: TimeInterval = 10
    var attempts = 5
    var certificateAuthorities: String?

    /// - Returns: `nil` if secrets are left alone, for then nobody is told.
    func settings() throws(NotificationSections.Incomplete) -> WebhookSettings? {
        guard let url, let secret else {
            let missing = [url == nil ? "url" : nil, secret == nil ? "secret_file" : nil].compactMap(\.self)
            throw NotificationSections.Incomplete(section: "webhook", missing: missing)
        }
        return secret.value.map {
            WebhookSettings(
                url: url, key: $0, trigger: trigger, timeout: timeout, attempts: attempts,
                certificateAuthorities: certificateAuthorities)
        }
    }
}
