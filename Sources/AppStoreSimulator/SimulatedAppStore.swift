public import Foundation
import Synchronization

/// Apple's side: `verifyReceipt` and the App Store Server API of production and sandbox over HTTP on 127.0.0.1, with
/// faults. Its answers depend only on the seed, the keys, the request, the records and the clock.
public final class SimulatedAppStore: Sendable {
    /// Where the store answers.
    public struct Addresses: Hashable, Sendable {
        public let port: UInt16
        /// For instance `http://127.0.0.1:40123`.
        public var base: String { "http://127.0.0.1:\(port)" }
        /// For instance `https://localhost:40124`, if HTTPS was asked for.
        public let tlsBase: String?
        /// The certificate authority to trust for HTTPS, in PEM.
        public let authorityPEM: String?

        public var productionVerifyReceipt: String { "\(base)/production/verifyReceipt" }
        public var sandboxVerifyReceipt: String { "\(base)/sandbox/verifyReceipt" }
        /// The part of the URL before `/inApps/…`.
        public var productionServerAPI: String { "\(base)/production" }
        public var sandboxServerAPI: String { "\(base)/sandbox" }
        /// The part of the URL before `/v1/salesReports`.
        public var appStoreConnect: String { base }
        public var tlsProductionVerifyReceipt: String? { tlsBase.map { "\($0)/production/verifyReceipt" } }
    }

    struct State {
        var records: StoreRecords
        /// How often the records were changed.
        var version = 0
        var counts = RequestCounts()
        var isOut = false
        /// How often each request came, by its hash.
        var attempts: [UInt64: UInt64] = [:]
        var listeners: [Listener] = []
        /// The sales report of a day, compressed; `nil` if nothing was sold.
        var salesReports: @Sendable (String) -> [UInt8]? = { _ in nil }
    }

    let seed: UInt64
    let faults: Faults
    let latency: Latency?
    let outageAfter: Int?
    let rateGate: RateGate
    let now: @Sendable () -> Date
    let signer: ReceiptSigner
    let state: Mutex<State>
    let notices = NoticeCache()
    /// The only key that the App Store Server API accepts.
    public var apiKey: APIKey { signer.keys.api }

    /// - Parameters:
    ///   - seed: decides receipts, faults and delays.
    ///   - keys: a store reads only receipts that were signed with its own keys.
    ///   - outageAfter: this many requests are answered, and every later one with 503.
    ///   - rateLimits: the limits of the App Store Server API.
    ///   - now: the store's present moment. Tokens and rate limits go by the real time, as the
    ///     client's do.
    public init(
        seed: UInt64, keys: TestKeys = .usual, records: StoreRecords = StoreRecords(), faults: Faults = .none,
        latency: Latency? = nil, outageAfter: Int? = nil, rateLimits: RateLimits = .none,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.seed = seed
        self.faults = faults
        self.latency = latency
        self.outageAfter = outageAfter
        self.now = now
        rateGate = RateGate(rateLimits)
        signer = ReceiptSigner(seed: seed, keys: keys)
        state = Mutex(State(records: records))
    }

    // MARK: The server

    /// Starts to answer over HTTP, and over HTTPS on a second port if `tlsPort` is given; port 0 means any free one.
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

    /// Closes the ports; later requests are refused.
    public func stop() {
        let listeners = state.withLock { state in
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { listener.stop() }
    }

    // MARK: What a test or a world does to the store

    /// Returns the text that a client uploads for a receipt.
    public func makeReceipt(_ receipt: SimulatedReceipt) -> String {
        signer.encode(receipt)
    }

    /// The roots of what the store signs, in PEM, for clients to trust; the same for every store with the same keys.
    public var rootCertificatesPEM: String { signer.keys.rootsPEM }

    /// Changes what the store knows beside the receipts: apps, refunds, subscriptions, deleted accounts.
    public func update(_ change: (inout StoreRecords) -> Void) {
        state.withLock {
            change(&$0.records)
            $0.version += 1
        }
    }

    /// Starts or ends an outage, in which every answer is 503.
    public func setOutage(_ isOut: Bool) {
        state.withLock { $0.isOut = isOut }
    }

    /// Serves these sales reports from now on.
    ///
    /// - Parameter report: returns a day's report, compressed; `nil` if nothing was sold. The day is one of Pacific
    ///   Time, such as `2026-10-02`.
    public func handOut(salesReports report: @escaping @Sendable (String) -> [UInt8]?) {
        state.withLock { $0.salesReports = report }
    }

    /// What was asked so far.
    public var counts: RequestCounts { state.withLock { $0.counts } }
}
