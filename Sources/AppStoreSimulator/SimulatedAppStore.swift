public import Foundation
import Synchronization

/// Apple's side: the endpoint `verifyReceipt` of production and sandbox over HTTP on 127.0.0.1, with faults.
/// What it answers depends on the seed, the receipt, the records and the clock alone.
public final class SimulatedAppStore: Sendable {
    /// Where the store answers.
    public struct Addresses: Hashable, Sendable {
        public let port: UInt16
        /// For instance `http://127.0.0.1:40123`.
        public var base: String { "http://127.0.0.1:\(port)" }
        /// For instance `https://localhost:40124`, where HTTPS was asked for.
        public let tlsBase: String?
        /// The certificate authority to trust for HTTPS, in PEM.
        public let authorityPEM: String?

        public var productionVerifyReceipt: String { "\(base)/production/verifyReceipt" }
        public var sandboxVerifyReceipt: String { "\(base)/sandbox/verifyReceipt" }
        public var tlsProductionVerifyReceipt: String? { tlsBase.map { "\($0)/production/verifyReceipt" } }
        public var tlsSandboxVerifyReceipt: String? { tlsBase.map { "\($0)/sandbox/verifyReceipt" } }
    }

    private struct State {
        var records: StoreRecords
        var counts = RequestCounts()
        var isOut = false
        /// How often each request came, by its hash.
        var attempts: [UInt64: UInt64] = [:]
        var listeners: [Listener] = []
    }

    private let seed: UInt64
    private let faults: Faults
    private let latency: Latency?
    private let outageAfter: Int?
    private let now: @Sendable () -> Date
    private let signer: ReceiptSigner
    private let state: Mutex<State>

    /// - Parameters:
    ///   - seed: makes receipts, faults and delays what they are; a store reads only receipts of its own seed.
    ///   - outageAfter: so many requests are answered, and every later one with 503.
    ///   - now: the moment that the store takes for the present.
    public init(
        seed: UInt64, records: StoreRecords = StoreRecords(), faults: Faults = .none, latency: Latency? = nil,
        outageAfter: Int? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.seed = seed
        self.faults = faults
        self.latency = latency
        self.outageAfter = outageAfter
        self.now = now
        signer = ReceiptSigner(seed: seed)
        state = Mutex(State(records: records))
    }

    // MARK: The server

    /// Begins to answer over HTTP, and over HTTPS on a second port if `tlsPort` is given; port 0 is any free one.
    @discardableResult
    public func start(port: UInt16 = 0, tlsPort: UInt16? = nil) throws(SimulatorError) -> Addresses {
        let respond: @Sendable (Request) -> Answer = { [weak self] in self?.respond(to: $0) ?? .page(503, "Gone") }
        let listener = Listener(respond: respond)
        let port = try listener.start(port: port)
        state.withLock { $0.listeners.append(listener) }
        guard let tlsPort else { return Addresses(port: port, tlsBase: nil, authorityPEM: nil) }
        let credentials = ServerCredentials()
        let tlsListener = Listener(respond: respond)
        let tlsBase = "https://localhost:\(try tlsListener.start(port: tlsPort, credentials: credentials))"
        state.withLock { $0.listeners.append(tlsListener) }
        return Addresses(port: port, tlsBase: tlsBase, authorityPEM: credentials.authorityPEM)
    }

    /// Closes the ports; whoever calls now is refused.
    public func stop() {
        let listeners = state.withLock { state in
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { listener.stop() }
    }

    // MARK: What a test or a world does to the store

    /// The text that a client uploads for a receipt.
    public func makeReceipt(_ receipt: SimulatedReceipt) -> String {
        signer.encode(receipt)
    }

    /// The roots of what the store signs, in PEM, for clients to trust; the same for every store of the seed.
    public var rootCertificatesPEM: String { signer.chains.rootsPEM }

    /// Changes what the store knows beside the receipts: apps, refunds, subscriptions, deleted accounts.
    public func update(_ change: (inout StoreRecords) -> Void) {
        state.withLock { change(&$0.records) }
    }

    /// Answers everything with 503 from now on, or no longer.
    public func setOutage(_ isOut: Bool) {
        state.withLock { $0.isOut = isOut }
    }

    /// What was asked so far.
    public var counts: RequestCounts { state.withLock { $0.counts } }

    // MARK: Answering

    /// A request that was counted, with what decides its answer.
    private struct Admitted {
        let records: StoreRecords
        let isOut: Bool
        /// Says which request it is: the same receipt to the same endpoint has the same.
        let hash: UInt64
        /// How often it came before.
        let attempt: UInt64
    }

    private func respond(to request: Request) -> Answer {
        guard let endpoint = StoreEnvironment(verifyReceiptPath: request.path) else { return .page(404, "Not Found") }
        let question = VerifyReceipt.Request(body: request.body)
        let admitted = admit(StableHash.of((question?.receiptData ?? "").utf8), at: endpoint)
        if admitted.isOut { return .page(503, "Service Unavailable") }
        guard request.method == "POST" else { return Answer(body: VerifyReceipt.refusal(.notPosted)) }
        let endpointFunction = VerifyReceipt(signer: signer)
        var answer = Answer(
            body: endpointFunction.answer(to: question, at: endpoint, records: admitted.records, now: now()))
        if let latency { answer.delay = latency.delay(Mix.value(seed, admitted.hash, admitted.attempt, 1)) }
        return meetingFault(answer, admitted)
    }

    private func meetingFault(_ answer: Answer, _ admitted: Admitted) -> Answer {
        guard let fault = faults.fault(seed: seed, request: admitted.hash, attempt: admitted.attempt) else {
            return answer
        }
        state.withLock { $0.counts.byFault[fault, default: 0] += 1 }
        let random = Mix.value(seed, admitted.hash, admitted.attempt, 2)
        return answer.meeting(fault, random: random, timeoutSeconds: faults.timeoutSeconds, now: Date())
    }

    private func admit(_ receiptHash: UInt64, at endpoint: StoreEnvironment) -> Admitted {
        let isAttemptKept = !faults.isNone || latency != nil
        let hash = Mix.value(receiptHash, StableHash.of(endpoint.rawValue.utf8))
        return state.withLock { state in
            state.counts.byEndpoint[endpoint, default: 0] += 1
            let isOut = state.isOut || outageAfter.map { state.counts.total > $0 } ?? false
            if isOut { state.counts.duringOutage += 1 }
            let attempt = state.attempts[hash, default: 0]
            if isAttemptKept, !isOut { state.attempts[hash] = attempt + 1 }
            return Admitted(records: state.records, isOut: isOut, hash: hash, attempt: attempt)
        }
    }
}

extension StoreEnvironment {
    /// The environment whose `verifyReceipt` has this path.
    fileprivate init?(verifyReceiptPath path: String) {
        switch path {
        case "/production/verifyReceipt": self = .production
        case "/sandbox/verifyReceipt": self = .sandbox
        default: return nil
        }
    }
}
