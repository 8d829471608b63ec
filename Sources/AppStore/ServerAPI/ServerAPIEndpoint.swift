import Foundation
import HTTP

/// One environment of the App Store Server API for one app, with its own pacing.
final class ServerAPIEndpoint: Sendable {
    let environment: ServerEnvironment
    private let url: String
    private let timeout: TimeInterval
    private let limiters: [ServerAPIOperation: RateLimiter]
    private let server: PacedEndpoint<ServerAPIVerdict>
    private let token: AppStoreConnectToken

    init(
        _ environment: ServerEnvironment, at url: String, _ settings: ServerAPISettings, token: AppStoreConnectToken,
        http: HTTPClient, pace: Pace
    ) {
        self.environment = environment
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.timeout = settings.timeout
        self.token = token
        limiters = Dictionary(
            uniqueKeysWithValues: ServerAPIOperation.allCases.map { operation in
                let rate = settings.limits.requestsPerSecond(operation, in: environment)
                return (operation, RateLimiter(requestsPerSecond: rate, pace: pace))
            })
        server = PacedEndpoint(
            concurrency: settings.concurrency, retries: settings.retries, circuit: settings.circuit, http: http,
            pace: pace)
    }

    var isCircuitOpen: Bool { server.isCircuitOpen }

    var statistics: EndpointStatistics { server.statistics }

    /// Asks until there is an answer, the attempts are used up, or the endpoint turns out to be down. If Apple refuses
    /// a token that may have grown too old, asks once more with a new one.
    func ask(
        _ request: ServerAPIRequest, number: Int
    ) async throws(CancellationError) -> PacedEndpoint<ServerAPIVerdict>.Answer {
        var used = ""
        let question = PacedEndpoint<ServerAPIVerdict>.Question(
            number: number, limiter: limiters[request.operation],
            request: { () throws(HTTPError) in
                used = try self.currentToken()
                return self.httpRequest(request, token: used)
            },
            judge: { Exchange($0, to: request.operation, now: $1) })
        let answer = try await server.ask(question, control: control)
        guard case .verdict(.unauthorized) = answer, token.discard(used) else { return answer }
        return try await server.ask(question, control: control)
    }

    /// A question about a transaction that nobody has.
    private var control: PacedEndpoint<ServerAPIVerdict>.Question {
        let request = ServerAPIRequest.nobodysTransaction
        return PacedEndpoint.Question(
            number: 0, limiter: limiters[request.operation],
            request: { () throws(HTTPError) in self.httpRequest(request, token: try self.currentToken()) },
            judge: { Exchange($0, to: request.operation, now: $1) })
    }

    private func httpRequest(_ request: ServerAPIRequest, token: String) -> HTTPRequest {
        var http = HTTPRequest(
            method: request.body == nil ? "GET" : "POST", url: url + request.path,
            headers: ["Authorization": "Bearer \(token)", "Accept": "application/json"], body: request.body,
            timeout: timeout)
        if request.body != nil { http.headers.append("Content-Type", "application/json") }
        return http
    }

    private func currentToken() throws(HTTPError) -> String {
        do {
            return try token.current()
        } catch {
            throw .invalidRequest("the App Store Server API key \(error)")
        }
    }
}
