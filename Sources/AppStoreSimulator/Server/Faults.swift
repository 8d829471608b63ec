import Foundation

/// One way in which Apple fails to answer.
public enum Fault: String, Hashable, Sendable, CaseIterable {
    /// The answer comes after the client has given up.
    case timeout
    /// An HTTP status of 500, 502, 503 or 504.
    case http500
    /// An HTTP status of 429 with `Retry-After`, in seconds or, as Apple does, in UNIX milliseconds.
    case rateLimited = "429"
    /// Status 21005: unable to answer for now; from the App Store Server API, an error that asks to try again.
    case unavailable = "21005"
    /// Status 21009 or 21100–21199 with `is-retryable` or `is_retryable`; from the App Store Server API 5000001.
    case internalError = "21009"
    /// Status 21002 for a good receipt, as in Apple's outage of February 2023.
    case malformed = "21002"
    /// JSON that ends in the middle.
    case truncated
    /// A web page in place of JSON.
    case html
    /// A connection that ends in the middle of the answer.
    case cut
    /// Signed by a stranger; answers of `verifyReceipt` are not signed.
    case forged
    /// One notification of a page is another app's.
    case foreign
    /// Error 4000017: the token of a page of notifications has expired.
    case expiredToken = "4000017"

    /// The faults that any request can meet.
    public static let common = allCases.filter { ![.forged, .foreign, .expiredToken].contains($0) }
}

/// The share of the requests that meets each fault. The same seed, receipt and attempt always meet the same.
public struct Faults: Hashable, Sendable {
    /// Shares of 0…1 that add up to 1 at most.
    public let shares: [Fault: Double]
    /// The share of receipts that meet a fault at every attempt.
    public let stickyShare: Double
    /// The seconds for which a `timeout` holds its answer back.
    public var timeoutSeconds: Double

    public static let none = Faults()

    private init() {
        shares = [:]
        stickyShare = 0
        timeoutSeconds = 0
    }

    /// - Throws: if a share is not within 0…1, or all add up to more than 1.
    public init(
        _ shares: [Fault: Double], stickyShare: Double = 0, timeoutSeconds: Double = 60
    ) throws(SimulatorError) {
        for share in shares.values + [stickyShare] where !(0...1).contains(share) {
            throw .invalidOption("a share of faults must be between 0 and 1, not \(share)")
        }
        guard shares.values.reduce(0, +) <= 1.000001 else {
            throw .invalidOption("the shares of faults add up to more than 1")
        }
        self.shares = shares
        self.stickyShare = stickyShare
        self.timeoutSeconds = timeoutSeconds
    }

    /// Reads shares as `timeout=0.05,http500=0.05`.
    public init(parsing text: String, stickyShare: Double = 0, timeoutSeconds: Double = 60) throws(SimulatorError) {
        var shares: [Fault: Double] = [:]
        for part in text.split(separator: ",") {
            let halves = part.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, let fault = Fault(rawValue: String(halves[0])), let share = Double(halves[1])
            else {
                let names = Fault.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidOption("\(part) is no fault and share; a fault is one of \(names)")
            }
            shares[fault] = share
        }
        try self.init(shares, stickyShare: stickyShare, timeoutSeconds: timeoutSeconds)
    }

    var isNone: Bool { shares.isEmpty && stickyShare == 0 }

    /// The fault that the n-th request of a receipt meets.
    func fault(seed: UInt64, request: UInt64, attempt: UInt64) -> Fault? {
        if Mix.share(Mix.value(seed, request, .max)) < stickyShare {
            let all = shares.isEmpty ? Dictionary(uniqueKeysWithValues: Fault.common.map { ($0, 1) }) : shares
            let total = all.values.reduce(0, +)
            return Self.fault(at: Mix.share(Mix.value(seed, request, .max - 1)) * total, of: all)
        }
        return Self.fault(at: Mix.share(Mix.value(seed, request, attempt)), of: shares)
    }

    /// The fault that covers a point if the shares are laid end to end; `nil` if none does.
    private static func fault(at point: Double, of shares: [Fault: Double]) -> Fault? {
        var end = 0.0
        return Fault.allCases.first { fault in
            end += shares[fault] ?? 0
            return point < end
        }
    }
}
