import Notifications

/// The sections that say who is told of a run, while they are being read.
struct NotificationSections {
    static let names = ["webhook", "mail", "ping", "metrics"]

    var webhook = WebhookSection()
    var mail = MailSection()
    var ping = PingSettings()
    var metricsFile: String?

    /// A section whose keys are of no use without others.
    struct Incomplete: Error {
        let section: String
        let missing: [String]
    }

    /// - Parameter given: which of these sections the file has.
    func settings(given: Set<String>) throws(Incomplete) -> NotificationSettings {
        var settings = NotificationSettings()
        if given.contains("webhook") { settings.webhook = try webhook.settings() }
        if given.contains("mail") { settings.mail = try mail.settings() }
        if given.contains("ping") { settings.ping = try pingSettings() }
        if given.contains("metrics") {
            guard let metricsFile else { throw Incomplete(section: "metrics", missing: ["file"]) }
            settings.metrics = MetricsSettings(file: metricsFile)
        }
        return settings
    }

    private func pingSettings() throws(Incomplete) -> PingSettings {
        guard ping.start != nil || ping.success != nil || ping.failure != nil else {
            throw Incomplete(section: "ping", missing: ["start, success or failure"])
        }
        return ping
    }
}
