import Foundation
import HTTP

extension VerifyReceiptVerdict: EndpointVerdict {
    static func needsConfiguration(_ what: String) -> VerifyReceiptVerdict { .settled(.needsConfiguration(what)) }

    var failure: (why: TryAgain, worthRetrying: Bool)? {
        if case .failed(let why, let worthRetrying) = self { (why, worthRetrying) } else { nil }
    }
}

extension Exchange where Meaning == VerifyReceiptVerdict {
    /// Judges a response.
    init(_ response: HTTPResponse, from endpoint: ServerEnvironment, hasSecret: Bool, now: Date) {
        guard response.status == 200 else {
            self.init(unanswered: response, now: now)
            return
        }
        self.init(VerifyReceiptVerdict(body: response.body, endpoint: endpoint, hasSecret: hasSecret))
        retryAfter = RetryAfter.seconds(in: response.headers, now: now)
    }

    private init(_ verdict: VerifyReceiptVerdict) {
        switch verdict {
        case .settled, .otherEnvironment, .failed(.unknownStatus, _), .failed(.noReceipt, _):
            self.init(verdict, load: .served, health: .up)
        case .failed(.busy, _):
            self.init(verdict, load: .other, health: .busy)
        case .failed:
            self.init(verdict, load: .other, health: .down)
        }
    }
}
