import Foundation
import HTTP

/// One attempt at an endpoint, and all that is learnt from it: of the receipt, of the server's load and of its health.
struct Exchange: Sendable {
    let verdict: Verdict
    let load: AdaptiveLimit.Sign
    let health: CircuitBreaker.Sign
    /// Seconds that the server asked to wait.
    var retryAfter: TimeInterval?

    /// Judges a response.
    init(
        _ response: HTTPResponse, from endpoint: VerifyReceiptEnvironment, hasSecret: Bool, now: Date
    ) {
        switch response.status {
        case 200:
            self.init(Verdict(body: response.body, endpoint: endpoint, hasSecret: hasSecret))
        case 429:
            self.init(.failed(.http(429), worthRetrying: true), load: .overloaded, health: .busy)
        case 500...599:
            self.init(.failed(.http(response.status), worthRetrying: true), load: .overloaded, health: .down)
        default:
            // 408 and 425 are the two others that ask for the same request again.
            let worthRetrying = response.status == 408 || response.status == 425
            self.init(.failed(.http(response.status), worthRetrying: worthRetrying), load: .other, health: .down)
        }
        retryAfter = response.headers["retry-after"].flatMap { RetryAfter.seconds($0, now: now) }
    }

    private init(_ verdict: Verdict) {
        switch verdict {
        case .settled, .otherEnvironment, .failed(.unknownStatus, _):
            self.init(verdict, load: .served, health: .up)
        case .failed(.busy, _):
            self.init(verdict, load: .other, health: .busy)
        case .failed:
            self.init(verdict, load: .other, health: .down)
        }
    }

    private init(_ verdict: Verdict, load: AdaptiveLimit.Sign, health: CircuitBreaker.Sign) {
        self.verdict = verdict
        self.load = load
        self.health = health
    }
}

extension Exchange {
    /// Judges a request that brought no response; throws if that is because it was cancelled.
    init(_ error: HTTPError) throws(CancellationError) {
        switch error {
        case .cancelled:
            throw CancellationError()
        case .invalidURL, .invalidRequest, .tls:
            self.init(.settled(.needsConfiguration("\(error)")), load: .other, health: .down)
        case .responseTooLarge:
            // It is this receipt's answer that is so large: the server is well.
            self.init(.failed(.unreadable("\(error)"), worthRetrying: false), load: .other, health: .busy)
        case .timedOut:
            self.init(.failed(.noAnswer("\(error)"), worthRetrying: true), load: .overloaded, health: .down)
        case .couldNotResolve, .couldNotConnect, .connectionLost, .other:
            self.init(
                .failed(.noAnswer("\(error)"), worthRetrying: error.isRetryable), load: .other, health: .down)
        }
    }
}
