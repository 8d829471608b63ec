import Foundation
import HTTP
import Synchronization

/// One of the two addresses of `verifyReceipt`, with the pacing that belongs to it alone.
final class VerifyReceiptEndpoint: Sendable {
    /// What asking came to.
    enum Answer: Sendable {
        case verdict(Verdict)
        /// Nothing was sent: the endpoint is down.
        case circuitOpen
    }

    private struct State {
        var circuit: CircuitBreaker
        var counts: VerifyReceiptStatistics.Endpoint
    }

    private let environment: VerifyReceiptEnvironment
    private let url: String
    private let timeout: TimeInterval
    private let retries: Backoff
    private let http: HTTPClient
    private let pace: Pace
    private let gate: ConcurrencyGate
    private let limiter: RateLimiter?
    private let state: Mutex<State>

    init(
        _ environment: VerifyReceiptEnvironment, at url: String, _ settings: VerifyReceiptSettings,
        http: HTTPClient, pace: Pace
    ) {
        self.environment = environment
        self.url = url
        self.timeout = settings.timeout
        self.retries = settings.retries
        self.http = http
        self.pace = pace
        self.gate = ConcurrencyGate(ceiling: settings.concurrency)
        self.limiter = settings.requestsPerSecond.map { RateLimiter(requestsPerSecond: $0, pace: pace) }
        self.state = Mutex(
            State(
                circuit: CircuitBreaker(settings.circuit),
                counts: VerifyReceiptStatistics.Endpoint(concurrencyLimit: settings.concurrency)))
    }

    var isCircuitOpen: Bool { state.withLock { $0.circuit.isOpen } }

    var statistics: VerifyReceiptStatistics.Endpoint {
        var counts = state.withLock { state in
            state.counts.isCircuitOpen = state.circuit.isOpen
            return state.counts
        }
        counts.concurrencyLimit = gate.limit
        return counts
    }

    /// Asks until there is an answer, the attempts are used up, or the endpoint turns out to be down.
    func ask(_ question: VerifyReceiptQuestion) async throws(CancellationError) -> Answer {
        var attempt = 1
        var latest = Answer.circuitOpen
        while let exchange = try await exchange(question, isRetry: attempt > 1) {
            latest = .verdict(exchange.verdict)
            guard case .failed(let why, worthRetrying: true) = exchange.verdict else { return latest }
            switch retries.step(afterAttempt: attempt, retryAfter: exchange.retryAfter, random: pace.random()) {
            case .wait(let seconds):
                if isCircuitOpen { return latest }
                try await pace.sleep(seconds)
            case .giveUp: return latest
            case .tooLong(let seconds): return .verdict(.failed(why.asking(toWait: seconds), worthRetrying: false))
            }
            attempt += 1
        }
        return latest
    }

    /// Sends the question once, when it is its turn; nothing if the circuit is open by then.
    private func exchange(
        _ question: VerifyReceiptQuestion, isRetry: Bool
    ) async throws(CancellationError) -> Exchange? {
        guard !state.withLock({ $0.circuit.refuses(at: pace.uptime()) }) else { return nil }
        return try await gate.run { () async throws(CancellationError) -> (Exchange?, AdaptiveLimit.Sign) in
            try await limiter?.waitForTurn()
            // It may have opened while this request stood in line.
            guard state.withLock({ $0.circuit.admits(at: pace.uptime()) }) else { return (nil, .other) }
            let exchange = try await send(question)
            note(exchange, of: question, isRetry: isRetry)
            return (exchange, exchange.load)
        }
    }

    private func send(_ question: VerifyReceiptQuestion) async throws(CancellationError) -> Exchange {
        let request = HTTPRequest(
            method: "POST", url: url, headers: ["Content-Type": "application/json"], body: question.body,
            timeout: timeout)
        do {
            let response = try await http.send(request)
            return Exchange(response, from: environment, hasSecret: question.hasSecret, now: pace.date())
        } catch {
            return try Exchange(error)
        }
    }

    private func note(_ exchange: Exchange, of question: VerifyReceiptQuestion, isRetry: Bool) {
        state.withLock { state in
            state.circuit.record(exchange.health, receipt: question.number, at: pace.uptime())
            state.counts.requests += 1
            if isRetry { state.counts.retries += 1 }
            if exchange.health == .down { state.counts.unanswered += 1 }
            if case .failed(.http(429), _) = exchange.verdict { state.counts.tooManyRequests += 1 }
        }
    }
}
