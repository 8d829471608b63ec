import Foundation
import HTTP

/// Sends a request until it is accepted: again after ever longer pauses if the server can't be reached, answers 429 or
/// fails; not again if it refuses.
struct Post: Sendable {
    private let client: HTTPClient
    private let attempts: Int
    private let dependencies: NotifierDependencies

    init(
        _ programVersion: String, timeout: TimeInterval, attempts: Int, certificateAuthorities: String?,
        dependencies: NotifierDependencies
    ) throws(HTTPError) {
        client = try HTTPClient(
            HTTPClient.Configuration(
                maximumTransfers: 1, connectTimeout: timeout, timeout: timeout, maximumResponseBytes: 1 << 20,
                certificateAuthorities: certificateAuthorities, userAgent: "iap-reconcile/\(programVersion)"))
        self.attempts = attempts
        self.dependencies = dependencies
    }

    /// - Parameters:
    ///   - attempts: the most attempts; by default those that this post was made with.
    ///   - request: makes the request of each attempt, since it may contain its time.
    func deliver(attempts: Int? = nil, _ request: () throws -> HTTPRequest) async throws {
        let most = attempts ?? self.attempts
        var waited = Duration.zero
        for number in 1... {
            let request = try request()
            let answer: Answer
            do throws(HTTPError) {
                answer = Answer(try await client.send(request), from: request)
            } catch {
                answer = Answer(error)
            }
            switch answer {
            case .taken: return
            case .refused(let why): throw NotificationError(why)
            case .tryAgain(let why, let wait):
                let pause = Self.pause(after: number, asked: wait)
                guard number < most, waited + pause <= Self.patience else {
                    throw NotificationError(why + (number > 1 ? ", after \(number) tries" : ""))
                }
                waited += pause
                try await dependencies.pause(pause)
            }
        }
    }

    /// The total time of waiting for a server, between the attempts: the job wants to end.
    private static let patience = Duration.seconds(60)

    /// 1, 2, 4 … 30 seconds, or longer if the server asks for it, but never more than a minute.
    static func pause(after attempt: Int, asked: Int?) -> Duration {
        .seconds(min(60, max(min(30, 1 << min(attempt - 1, 5)), asked ?? 0)))
    }

    private enum Answer {
        case taken
        case refused(String)
        case tryAgain(String, wait: Int?)

        init(_ response: HTTPResponse, from request: HTTPRequest) {
            let host = URL(string: request.url)?.host() ?? "the server"
            let text = "\(host) answers with status \(response.status)"
            switch response.status {
            case 200..<300: self = .taken
            case 429, 500...: self = .tryAgain(text, wait: response.headers.first("Retry-After").flatMap(Int.init))
            default: self = .refused(text)
            }
        }

        init(_ error: HTTPError) {
            // It accepted the message, whatever else it says.
            if case .responseTooLarge = error {
                self = .taken
                return
            }
            self = error.isRetryable ? .tryAgain("\(error)", wait: nil) : .refused(Self.text(error))
        }

        /// The error's text without the address, which an impossible one would show: a path may hold a secret.
        private static func text(_ error: HTTPError) -> String {
            if case .invalidURL = error { "the address is not one that can be asked" } else { "\(error)" }
        }
    }
}
