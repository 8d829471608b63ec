import Foundation
import HTTP
import Reconciliation

/// Requests the addresses of a dead man's switch. Each request is a POST whose body is a line of text.
struct Ping {
    private let settings: PingSettings
    private let post: Post

    init(_ settings: PingSettings, _ post: Post) {
        self.settings = settings
        self.post = post
    }

    /// Says that a run begins. It is tried only once, as the run waits for it.
    func begin() async throws {
        guard let url = settings.start else { return }
        try await post.deliver(attempts: 1) { Self.request(url.replacing("{code}", with: "0"), "run begins") }
    }

    func end(_ news: RunNews) async throws {
        guard let url = settings.url(for: news) else { return }
        let run = news.runID.map { "run \($0)" } ?? "run"
        try await post.deliver { Self.request(url, "\(run) ended with exit code \(news.exitCode.rawValue)") }
    }

    private static func request(_ url: String, _ line: String) -> HTTPRequest {
        HTTPRequest(
            method: "POST", url: url, headers: ["Content-Type": "text/plain; charset=utf-8"],
            body: Data("\(line)\n".utf8))
    }
}

extension PingSettings {
    /// The address to request after a run, if there is one.
    func url(for news: RunNews) -> String? {
        (news.exitCode == .done ? success : failure)?.replacing("{code}", with: "\(news.exitCode.rawValue)")
    }
}
