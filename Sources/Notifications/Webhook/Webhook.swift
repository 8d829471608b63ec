import Foundation
import HTTP

/// Sends a run's figures to a server, signed by <https://www.standardwebhooks.com>, for which receivers find libraries
/// in every language.
struct Webhook {
    let settings: WebhookSettings
    let post: Post

    /// Sends the news. All attempts send the same message with the same `webhook-id`.
    func send(_ news: RunNews, _ dependencies: NotifierDependencies) async throws {
        let body = try WebhookDocument(news).json()
        let id = "msg_\(dependencies.newID())"
        try await post.deliver {
            // A new time for each attempt, for receivers refuse what was signed too long ago.
            let timestamp = Int(dependencies.now().timeIntervalSince1970)
            return HTTPRequest(
                method: "POST", url: settings.url,
                headers: [
                    "Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": "\(timestamp)",
                    "webhook-signature": try settings.key.signature(id: id, timestamp: timestamp, body: body),
                ], body: body)
        }
    }
}
