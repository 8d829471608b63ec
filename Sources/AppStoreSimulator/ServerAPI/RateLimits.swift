import Foundation
import Synchronization

/// How many requests a second the App Store Server API answers for one app, by endpoint; in the sandbox a tenth.
public struct RateLimits: Hashable, Sendable {
    /// Endpoints that are not in it have no limit.
    public let perSecond: [ServerAPIEndpoint: Double]

    public static let none = RateLimits(unchecked: [:])

    /// The limits that Apple publishes.
    public static let apple = RateLimits(unchecked: [
        .transaction: 50, .history: 50, .subscriptions: 50, .lookup: 10, .refunds: 10, .notifications: 50,
    ])

    private init(unchecked perSecond: [ServerAPIEndpoint: Double]) {
        self.perSecond = perSecond
    }

    /// - Throws: if a limit is not above 0.
    public init(_ perSecond: [ServerAPIEndpoint: Double]) throws(SimulatorError) {
        guard perSecond.values.allSatisfy({ $0 > 0 && $0.isFinite }) else {
            throw .invalidOption("a rate limit must be above 0")
        }
        self.perSecond = perSecond
    }

    /// Reads limits as `history=50,lookup=10`, or `apple`.
    public init(parsing text: String) throws(SimulatorError) {
        guard text != "apple" else {
            self = .apple
            return
        }
        var limits: [ServerAPIEndpoint: Double] = [:]
        for part in text.split(separator: ",") {
            let halves = part.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, let endpoint = ServerAPIEndpoint(rawValue: String(halves[0])),
                let limit = Double(halves[1])
            else {
                let names = ServerAPIEndpoint.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidOption("\(part) is no rate limit; write ENDPOINT=NUMBER, of \(names)")
            }
            limits[endpoint] = limit
        }
        try self.init(limits)
    }
}

/// Counts requests against the limits, with a bucket of a second's requests for each app, endpoint and environment.
final class RateGate: Sendable {
    struct Line: Hashable {
        let bundleID: String
        let endpoint: ServerAPIEndpoint
        let environment: StoreEnvironment
    }

    private struct Bucket {
        var tokens: Double
        var filledAt: Date
    }

    private let limits: RateLimits
    private let buckets = Mutex<[Line: Bucket]>([:])

    init(_ limits: RateLimits) {
        self.limits = limits
    }

    /// Lets a request pass, or returns when the next one may, by the real time, as clients read it.
    func pass(_ line: Line, at now: Date) -> Date? {
        guard let limit = limits.perSecond[line.endpoint] else { return nil }
        let rate = line.environment == .sandbox ? limit / 10 : limit
        let capacity = max(1, rate)
        return buckets.withLock { buckets in
            var bucket = buckets[line] ?? Bucket(tokens: capacity, filledAt: now)
            let gained = max(0, now.timeIntervalSince(bucket.filledAt)) * rate
            bucket = Bucket(tokens: min(capacity, bucket.tokens + gained), filledAt: now)
            defer { buckets[line] = bucket }
            guard bucket.tokens >= 1 else { return now.addingTimeInterval((1 - bucket.tokens) / rate) }
            bucket.tokens -= 1
            return nil
        }
    }
}
