import Foundation
import HTTP

/// What one answer of an endpoint means, in terms of that endpoint.
protocol EndpointVerdict: Sendable {
    /// Nothing was learnt. `worthRetrying` is about this run.
    static func failed(_ why: TryAgain, worthRetrying: Bool) -> Self
    /// A setting must be corrected first.
    static func needsConfiguration(_ what: String) -> Self
    /// What went wrong, if nothing was learnt.
    var failure: (why: TryAgain, worthRetrying: Bool)? { get }
}

/// One attempt at an endpoint, and what is learnt from it: the meaning of the answer, and the server's load and health.
struct Exchange<Meaning: EndpointVerdict>: Sendable {
    let verdict: Meaning
    let load: AdaptiveLimit.Sign
    let health: CircuitBreaker.Sign
    /// Seconds that the server asked to wait.
    var retryAfter: TimeInterval?

    init(_ verdict: Meaning, load: AdaptiveLimit.Sign, health: CircuitBreaker.Sign) {
        self.verdict = verdict
        self.load = load
        self.health = health
    }
}

extension Exchange {
    /// Judges a response whose HTTP status says that it holds no answer.
    init(unanswered response: HTTPResponse, now: Date) {
        let failed = TryAgain.http(response.status)
        let load = AdaptiveLimit.Sign(unanswered: response.status)
        switch response.status {
        case 429: self.init(.failed(failed, worthRetrying: true), load: load, health: .busy)
        case 500...599: self.init(.failed(failed, worthRetrying: true), load: load, health: .down)
        // It refuses this request's content, so it is up: one client's payloads must not stop the questions about
        // others.
        case 400, 411, 413, 414, 415, 422, 431:
            self.init(.failed(failed, worthRetrying: false), load: load, health: .up)
        // It admits nobody, or has moved.
        case 401, 403, 404, 407: self.init(.failed(failed, worthRetrying: false), load: load, health: .busy)
        default:
            // 408 and 425 ask for the same request again, too.
            let worthRetrying = response.status == 408 || response.status == 425
            self.init(.failed(failed, worthRetrying: worthRetrying), load: load, health: .down)
        }
        retryAfter = RetryAfter.seconds(in: response.headers, now: now)
    }

    /// Judges a request that got no response; throws if it was cancelled.
    init(_ error: HTTPError) throws(CancellationError) {
        switch error {
        case .cancelled:
            throw CancellationError()
        case .invalidURL, .invalidRequest:
            self.init(.needsConfiguration("\(error)"), load: .other, health: .down)
        case .tls:
            self.init(.needsConfiguration("\(error); \(Self.untrusted)"), load: .other, health: .down)
        case .responseTooLarge:
            // Only this one answer is too large: the server is well.
            self.init(.failed(.unreadable("\(error)"), worthRetrying: false), load: .other, health: .busy)
        case .timedOut:
            self.init(.failed(.noAnswer("\(error)"), worthRetrying: true), load: .failed, health: .down)
        case .couldNotResolve, .couldNotConnect, .connectionLost, .other:
            self.init(
                .failed(.noAnswer("\(error)"), worthRetrying: error.isRetryable), load: .other, health: .down)
        }
    }

    private static var untrusted: String {
        """
        check this machine's clock and its certificate authorities (ca-certificates), and name those of a proxy that signs \
        for itself by certificate_authorities in [apple]
        """
    }
}
