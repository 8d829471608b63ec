import Foundation
import HTTP

/// One of the two addresses of `verifyReceipt`, with its own pacing.
final class VerifyReceiptEndpoint: Sendable {
    private let environment: ServerEnvironment
    private let url: String
    private let timeout: TimeInterval
    private let limiter: RateLimiter?
    private let server: PacedEndpoint<VerifyReceiptVerdict>

    init(
        _ environment: ServerEnvironment, at url: String, _ settings: VerifyReceiptSettings, http: HTTPClient,
        pace: Pace
    ) {
        self.environment = environment
        self.url = url
        self.timeout = settings.timeout
        self.limiter = settings.requestsPerSecond.map { RateLimiter(requestsPerSecond: $0, pace: pace) }
        self.server = PacedEndpoint(
            concurrency: settings.concurrency, retries: settings.retries, circuit: settings.circuit, http: http,
            pace: pace)
    }

    var isCircuitOpen: Bool { server.isCircuitOpen }

    var statistics: EndpointStatistics { server.statistics }

    /// Asks until there is an answer, the attempts are used up, or the endpoint turns out to be down.
    func ask(_ question: VerifyReceiptQuestion) async throws(CancellationError)
        -> PacedEndpoint<VerifyReceiptVerdict>.Answer
    {
        try await server.ask(paced(question), control: paced(.control))
    }

    private func paced(_ question: VerifyReceiptQuestion) -> PacedEndpoint<VerifyReceiptVerdict>.Question {
        let request = HTTPRequest(
            method: "POST", url: url, headers: ["Content-Type": "application/json"], body: question.body,
            timeout: timeout)
        return PacedEndpoint.Question(
            number: question.number, limiter: limiter, request: { request },
            judge: { [environment] in Exchange($0, from: environment, hasSecret: question.hasSecret, now: $1) })
    }
}
