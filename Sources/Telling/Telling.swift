import HTTP

/// Tells people and machines of a run. What can't be told is said in the result: nothing throws, for telling never
/// decides how a run ends. All ways are tried side by side, each within its own limit of time.
public struct Telling: Sendable {
    private let settings: TellingSettings
    private let programVersion: String
    private let outside: Outside

    public init(_ settings: TellingSettings, programVersion: String, outside: Outside = .real) {
        self.settings = settings
        self.programVersion = programVersion
        self.outside = outside
    }

    /// Tells that a run begins.
    public func begin() async -> [Told] {
        guard let ping = settings.ping, ping.start != nil else { return [] }
        return await all([attempt(.ping) { try await Ping(ping, post(ping)).begin() }])
    }

    /// Tells how a run ended.
    public func end(_ news: RunNews) async -> [Told] {
        var attempts: [Attempt] = []
        if let metrics = settings.metrics {
            attempts.append(attempt(.metrics) { try MetricsFile(path: metrics.file).write(news) })
        }
        if let ping = settings.ping, ping.url(for: news) != nil {
            attempts.append(attempt(.ping) { try await Ping(ping, post(ping)).end(news) })
        }
        return await all(attempts + messages(news, isDue: { $0.includes(news) }))
    }

    /// Sends a test by mail and webhook, whatever their occasion. A dead man's switch and Prometheus are left alone, for
    /// they would take it for a run.
    public func test(_ news: RunNews) async -> [Told] { await all(messages(news, isDue: { _ in true })) }

    private func messages(_ news: RunNews, isDue: (Occasion) -> Bool) -> [Attempt] {
        var attempts: [Attempt] = []
        if let webhook = settings.webhook, isDue(webhook.occasion) {
            attempts.append(
                attempt(.webhook) { try await Webhook(settings: webhook, post: post(webhook)).send(news, outside) })
        }
        if let mail = settings.mail, isDue(mail.occasion) {
            attempts.append(attempt(.mail) { try await Mailer(settings: mail, outside: outside).send(news) })
        }
        return attempts
    }

    private typealias Attempt = @Sendable () async -> Told

    private func attempt(_ way: Told.Way, _ body: @escaping @Sendable () async throws -> Void) -> Attempt {
        {
            do {
                try await body()
                return Told(way)
            } catch {
                return Told(way, failure: "\(error)")
            }
        }
    }

    /// In the order in which they were given.
    private func all(_ attempts: [Attempt]) async -> [Told] {
        await withTaskGroup(of: (Int, Told).self) { group in
            for (place, attempt) in attempts.enumerated() { group.addTask { (place, await attempt()) } }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func post(_ ping: PingSettings) throws -> Post {
        try Post(
            programVersion, timeout: ping.timeout, attempts: 3,
            certificateAuthorities: ping.certificateAuthorities, outside: outside)
    }

    private func post(_ webhook: WebhookSettings) throws -> Post {
        try Post(
            programVersion, timeout: webhook.timeout, attempts: webhook.attempts,
            certificateAuthorities: webhook.certificateAuthorities, outside: outside)
    }
}
