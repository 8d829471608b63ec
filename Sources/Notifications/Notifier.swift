import HTTP

/// Tells people and machines of a run. Failures are in the results; nothing throws, as notifying never decides how a
/// run ends. All ways are tried side by side, each with its own time limit.
public struct Notifier: Sendable {
    private let settings: NotificationSettings
    private let programVersion: String
    private let dependencies: NotifierDependencies

    public init(_ settings: NotificationSettings, programVersion: String, dependencies: NotifierDependencies = .real) {
        self.settings = settings
        self.programVersion = programVersion
        self.dependencies = dependencies
    }

    /// Tells that a run begins.
    public func begin() async -> [NotificationResult] {
        guard let ping = settings.ping, ping.start != nil else { return [] }
        return await all([attempt(.ping) { try await Ping(ping, post(ping)).begin() }])
    }

    /// Tells how a run ended.
    public func end(_ news: RunNews) async -> [NotificationResult] {
        var attempts: [Attempt] = []
        if let metrics = settings.metrics {
            attempts.append(attempt(.metrics) { try MetricsFile(path: metrics.file).write(news) })
        }
        if let ping = settings.ping, ping.url(for: news) != nil {
            attempts.append(attempt(.ping) { try await Ping(ping, post(ping)).end(news) })
        }
        return await all(attempts + messages(news, isDue: { $0.includes(news) }))
    }

    /// Sends a test by mail and webhook, whatever their trigger. A dead man's switch and Prometheus are left out, for
    /// they would take it for a run.
    public func test(_ news: RunNews) async -> [NotificationResult] { await all(messages(news, isDue: { _ in true })) }

    private func messages(_ news: RunNews, isDue: (NotificationTrigger) -> Bool) -> [Attempt] {
        var attempts: [Attempt] = []
        if let webhook = settings.webhook, isDue(webhook.trigger) {
            attempts.append(
                attempt(.webhook) { try await Webhook(settings: webhook, post: post(webhook)).send(news, dependencies) }
            )
        }
        if let mail = settings.mail, isDue(mail.trigger) {
            attempts.append(attempt(.mail) { try await Mailer(settings: mail, dependencies: dependencies).send(news) })
        }
        return attempts
    }

    private typealias Attempt = @Sendable () async -> NotificationResult

    private func attempt(_ way: NotificationResult.Way, _ body: @escaping @Sendable () async throws -> Void) -> Attempt
    {
        {
            do {
                try await body()
                return NotificationResult(way)
            } catch {
                return NotificationResult(way, failure: "\(error)")
            }
        }
    }

    /// Makes all attempts, and returns their results in order.
    private func all(_ attempts: [Attempt]) async -> [NotificationResult] {
        await withTaskGroup(of: (Int, NotificationResult).self) { group in
            for (place, attempt) in attempts.enumerated() { group.addTask { (place, await attempt()) } }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func post(_ ping: PingSettings) throws -> Post {
        try Post(
            programVersion, timeout: ping.timeout, attempts: 3,
            certificateAuthorities: ping.certificateAuthorities, dependencies: dependencies)
    }

    private func post(_ webhook: WebhookSettings) throws -> Post {
        try Post(
            programVersion, timeout: webhook.timeout, attempts: webhook.attempts,
            certificateAuthorities: webhook.certificateAuthorities, dependencies: dependencies)
    }
}
