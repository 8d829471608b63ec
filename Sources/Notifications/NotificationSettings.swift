public import Foundation

/// Who is told of a run, and how; nobody, unless the configuration names somebody.
public struct NotificationSettings: Sendable {
    public var webhook: WebhookSettings?
    public var mail: MailSettings?
    public var ping: PingSettings?
    public var metrics: MetricsSettings?

    public init(
        webhook: WebhookSettings? = nil, mail: MailSettings? = nil, ping: PingSettings? = nil,
        metrics: MetricsSettings? = nil
    ) {
        self.webhook = webhook
        self.mail = mail
        self.ping = ping
        self.metrics = metrics
    }
}

/// A server that gets a signed JSON document.
public struct WebhookSettings: Sendable {
    /// May contain a secret itself, so it is never shown.
    public var url: String
    public var key: SigningKey
    public var trigger: NotificationTrigger
    /// Seconds for one request.
    public var timeout: TimeInterval
    /// How often it is tried.
    public var attempts: Int
    /// An additional file of certificate authorities in PEM.
    public var certificateAuthorities: String?

    public init(
        url: String, key: SigningKey, trigger: NotificationTrigger = .always, timeout: TimeInterval = 10,
        attempts: Int = 5,
        certificateAuthorities: String? = nil
    ) {
        self.url = url
        self.key = key
        self.trigger = trigger
        self.timeout = timeout
        self.attempts = attempts
        self.certificateAuthorities = certificateAuthorities
    }
}

/// People who get the summary, the page and the spreadsheet by mail.
public struct MailSettings: Sendable {
    public var from: MailAddress
    public var to: [MailAddress]
    public var trigger: NotificationTrigger
    /// The beginning of the subject.
    public var subjectPrefix: String
    /// The program that takes mails as sendmail does.
    public var sendmail: String
    /// The most bytes of all attachments together, before base64 makes them a third larger.
    public var attachmentLimit: Int
    /// Seconds that the program may take.
    public var timeout: TimeInterval

    public init(
        from: MailAddress, to: [MailAddress], trigger: NotificationTrigger = .always,
        subjectPrefix: String = "iap-reconcile",
        sendmail: String = "/usr/sbin/sendmail", attachmentLimit: Int = 7_000_000, timeout: TimeInterval = 60
    ) {
        self.from = from
        self.to = to
        self.trigger = trigger
        self.subjectPrefix = subjectPrefix
        self.sendmail = sendmail
        self.attachmentLimit = attachmentLimit
        self.timeout = timeout
    }
}

/// A dead man's switch: a service that raises the alarm if a run did not end well, or did not happen at all. In each
/// address, `{code}` stands for the exit code.
public struct PingSettings: Sendable {
    /// Requested when a run begins.
    public var start: String?
    /// Requested when a run ends with 0.
    public var success: String?
    /// Requested when a run ends with another code.
    public var failure: String?
    /// Seconds for one request.
    public var timeout: TimeInterval
    /// An additional file of certificate authorities in PEM.
    public var certificateAuthorities: String?

    public init(
        start: String? = nil, success: String? = nil, failure: String? = nil, timeout: TimeInterval = 5,
        certificateAuthorities: String? = nil
    ) {
        self.start = start
        self.success = success
        self.failure = failure
        self.timeout = timeout
        self.certificateAuthorities = certificateAuthorities
    }
}

/// A file that the textfile collector of Prometheus' node_exporter reads.
public struct MetricsSettings: Sendable {
    /// Ends in `.prom`, for the collector ignores others.
    public var file: String

    public init(file: String) {
        self.file = file
    }
}
