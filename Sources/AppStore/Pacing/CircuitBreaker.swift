public import Foundation

/// Stops asking a server that is down. It suspects so when many receipts fail without a success between them, or when
/// nearly everything has failed for a while. Receipts that the server chokes on fail the same way, so a control
/// question about none settles it: the circuit opens unless the server answers that. One receipt that the server chokes
/// on is no suspicion, however often it is tried. After a while a single request probes whether the server is back.
public struct CircuitBreaker: Sendable {
    /// When the circuit opens, and for how long.
    public struct Thresholds: Sendable, Hashable {
        /// This many receipts in a row whose request found no server.
        public var unanswered: Int
        /// This many receipts in a row that failed in any way, Apple's “not now” included.
        public var failed: Int
        /// The share (0…1) of the last `window` requests that found no server.
        public var share: Double
        public var window: Int
        /// Seconds until a request may probe an open circuit.
        public var coolDown: TimeInterval
        /// For how many seconds the answer to a control question is believed while hardly any receipt gets one.
        public var belief: TimeInterval

        public init(
            unanswered: Int = 20, failed: Int = 200, share: Double = 0.9, window: Int = 200,
            coolDown: TimeInterval = 60, belief: TimeInterval = 900
        ) {
            self.unanswered = unanswered
            self.failed = failed
            self.share = share
            self.window = window
            self.coolDown = coolDown
            self.belief = belief
        }
    }

    /// What a request showed of the server's health.
    enum Sign: Sendable, Hashable {
        /// It gave a usable answer, or refused only this request: HTTP 400, 413 …
        case up
        /// It answered “not now”, or admits nobody: HTTP 429, 403, 21005, 21009.
        case busy
        /// No answer, or none of the server's own: a dead connection, a time-out, 5xx, HTML.
        case down
    }

    private enum State {
        case closed
        /// Too much failed, and the control question is asked.
        case suspected
        /// Nothing is sent until that time, and then one request.
        case open(until: TimeInterval)
    }

    private let thresholds: Thresholds
    private var state = State.closed
    /// The receipts that failed since the last success: those that found no server, and all.
    private var unanswered: Set<Int> = []
    private var failed: Set<Int> = []
    /// Whether each of the last requests found no server; the oldest is at `oldest` once the window is full.
    private var window: [Bool] = []
    private var oldest = 0
    private var downInWindow = 0
    /// When the server was first suspected, and how many receipts were answered since: as many as make a suspicion end
    /// it.
    private var suspicion: (since: TimeInterval, answered: Int)?

    init(_ thresholds: Thresholds) {
        self.thresholds = thresholds
    }

    /// Whether the server counts as down, also during a probe.
    var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// Whether a request would be refused now; asking does not change the state.
    func refuses(at now: TimeInterval) -> Bool {
        if case .open(let until) = state { now < until } else { false }
    }

    /// Whether a request may be sent now. Once an open circuit has cooled down, one caller may send a probe. If it
    /// never reports back, the next caller may after the same time again.
    mutating func admits(at now: TimeInterval) -> Bool {
        guard !refuses(at: now) else { return false }
        if isOpen { state = .open(until: now + thresholds.coolDown) }
        return true
    }

    /// Notes how a request for the receipt with this number ended.
    ///
    /// - Parameter isFinal: `false` if it will be sent again in a moment: requests that were in flight when a server
    ///   went away for a second are no sign yet that it is down.
    /// - Returns: whether the server is suspected now, so that the caller has to ask the control question, and to
    ///   `settle` or `drop` the suspicion.
    mutating func record(_ sign: Sign, receipt: Int, isFinal: Bool = true) -> Bool {
        remember(sign == .down)
        if sign == .up {
            answered()
            return false
        }
        if sign == .down, isFinal { unanswered.insert(receipt) }
        failed.insert(receipt)
        guard case .closed = state, isTooMuch else { return false }
        state = .suspected
        return true
    }

    /// Settles a suspicion by what the control question showed.
    ///
    /// - Parameter control: `down` also where there is no such question.
    mutating func settle(by control: Sign, at now: TimeInterval) {
        guard case .suspected = state else { return }
        let suspicion = suspicion ?? (since: now, answered: 0)
        guard control == .up, now - suspicion.since <= thresholds.belief else {
            self.suspicion = nil
            state = .open(until: now + thresholds.coolDown)
            return
        }
        close()
        self.suspicion = suspicion
    }

    /// Drops a suspicion, as the control question was not asked to its end. The next failure raises it again.
    mutating func drop() {
        if case .suspected = state { state = .closed }
    }

    private var isTooMuch: Bool {
        unanswered.count >= thresholds.unanswered || failed.count >= thresholds.failed || isWindowDown
    }

    private var isWindowDown: Bool {
        window.count >= thresholds.window && Double(downInWindow) >= thresholds.share * Double(window.count)
    }

    private mutating func answered() {
        suspicion?.answered += 1
        if let suspicion, suspicion.answered >= thresholds.unanswered { self.suspicion = nil }
        if case .closed = state { forgetFailures() } else { close() }
    }

    private mutating func forgetFailures() {
        unanswered.removeAll(keepingCapacity: true)
        failed.removeAll(keepingCapacity: true)
    }

    private mutating func close() {
        state = .closed
        forgetFailures()
        window.removeAll(keepingCapacity: true)
        oldest = 0
        downInWindow = 0
    }

    private mutating func remember(_ isDown: Bool) {
        if isDown { downInWindow += 1 }
        guard window.count >= max(1, thresholds.window) else { return window.append(isDown) }
        if window[oldest] { downInWindow -= 1 }
        window[oldest] = isDown
        oldest = (oldest + 1) % window.count
    }
}
