import Foundation
import HTTP
import Synchronization

/// A server that is asked no faster than it can bear, again if that may help, and not at all while it is down.
final class PacedEndpoint<Meaning: EndpointVerdict>: Sendable {
    /// The result of asking.
    enum Answer: Sendable {
        case verdict(Meaning)
        /// Nothing was sent: the server is down.
        case circuitOpen
    }

    /// One thing to ask; it is asked again if an attempt fails.
    struct Question {
        /// Which receipt or transaction of this run it is about.
        let number: Int
        /// The rate that it counts towards.
        let limiter: RateLimiter?
        /// The request, made anew for each attempt.
        let request: () throws(HTTPError) -> HTTPRequest
        let judge: (HTTPResponse, _ now: Date) -> Exchange<Meaning>
    }

    private struct State {
        var circuit: CircuitBreaker
        var counts: EndpointStatistics
    }

    private let retries: Backoff
    private let http: HTTPClient
    private let pace: Pace
    private let gate: ConcurrencyGate
    private let state: Mutex<State>

    /// - Parameter concurrency: the most requests in flight; the adaptive limit never exceeds it.
    init(concurrency: Int, retries: Backoff, circuit: CircuitBreaker.Thresholds, http: HTTPClient, pace: Pace) {
        self.retries = retries
        self.http = http
        self.pace = pace
        self.gate = ConcurrencyGate(ceiling: concurrency)
        self.state = Mutex(
            State(
                circuit: CircuitBreaker(circuit), counts: EndpointStatistics(concurrencyLimit: concurrency)))
    }

    var isCircuitOpen: Bool { state.withLock { $0.circuit.isOpen } }

    var statistics: EndpointStatistics {
        var counts = state.withLock { state in
            state.counts.isCircuitOpen = state.circuit.isOpen
            return state.counts
        }
        counts.concurrencyLimit = gate.limit
        return counts
    }

    /// Asks until there is an answer, the attempts are used up, or the server turns out to be down.
    ///
    /// - Parameter control: a question about nothing that anybody uploaded, which the server answers whenever it is
    ///   up. It is asked once what failed makes believe that the server is down.
    func ask(_ question: Question, control: Question? = nil) async throws(CancellationError) -> Answer {
        var attempt = 1
        var latest = Answer.circuitOpen
        while let exchange = try await exchange(question, isRetry: attempt > 1, control: control) {
            latest = .verdict(exchange.verdict)
            guard let failure = exchange.verdict.failure, failure.worthRetrying else { return latest }
            switch retries.step(afterAttempt: attempt, retryAfter: exchange.retryAfter, random: pace.random()) {
            case .wait(let seconds):
                if isCircuitOpen { return latest }
                try await pace.sleep(seconds)
            case .giveUp: return latest
            case .tooLong(let seconds):
                // A server that asks for so long a wait answers nobody meanwhile.
                let isSuspected = state.withLock { state in
                    state.circuit.record(.down, receipt: question.number)
                }
                if isSuspected { try await settleSuspicion(by: control) }
                return .verdict(.failed(failure.why.asking(toWait: seconds), worthRetrying: false))
            }
            attempt += 1
        }
        return latest
    }

    /// Sends the question once, when its turn comes; `nil` if the circuit is open by then.
    private func exchange(
        _ question: Question, isRetry: Bool, control: Question?
    ) async throws(CancellationError) -> Exchange<Meaning>? {
        guard !state.withLock({ $0.circuit.refuses(at: pace.uptime()) }) else { return nil }
        return try await gate.run { () async throws(CancellationError) -> (Exchange<Meaning>?, AdaptiveLimit.Sign) in
            try await question.limiter?.waitForTurn()
            // It may have opened while this request waited in line.
            guard state.withLock({ $0.circuit.admits(at: pace.uptime()) }) else { return (nil, .other) }
            let exchange = try await send(question)
            if note(exchange, of: question, isRetry: isRetry) { try await settleSuspicion(by: control) }
            return (exchange, exchange.load)
        }
    }

    private func send(_ question: Question) async throws(CancellationError) -> Exchange<Meaning> {
        do {
            let response = try await http.send(try question.request())
            return question.judge(response, pace.date())
        } catch {
            return try Exchange(error)
        }
    }

    /// Counts an exchange; returns whether the server is suspected of being down now.
    private func note(_ exchange: Exchange<Meaning>, of question: Question, isRetry: Bool) -> Bool {
        state.withLock { state in
            state.counts.count(exchange, isRetry: isRetry)
            return state.circuit.record(
                exchange.health, receipt: question.number, isFinal: isRetry || retries.attempts <= 1)
        }
    }

    /// Asks the control question, and opens the circuit if the server does not answer it.
    private func settleSuspicion(by control: Question?) async throws(CancellationError) {
        var health = CircuitBreaker.Sign.down
        if let control {
            do {
                try await control.limiter?.waitForTurn()
                let exchange = try await send(control)
                state.withLock { $0.counts.count(exchange, isRetry: false) }
                health = exchange.health
            } catch {
                state.withLock { $0.circuit.drop() }
                throw error
            }
        }
        state.withLock { $0.circuit.settle(by: health, at: pace.uptime()) }
    }
}

extension EndpointStatistics {
    fileprivate mutating func count<Meaning>(_ exchange: Exchange<Meaning>, isRetry: Bool) {
        requests += 1
        if isRetry { retries += 1 }
        if exchange.health == .down { unanswered += 1 }
        if exchange.verdict.failure?.why == .http(429) { tooManyRequests += 1 }
    }
}

/// Numbers what is asked about, so that a circuit breaker can tell one bad receipt from many.
final class QuestionCounter: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}
