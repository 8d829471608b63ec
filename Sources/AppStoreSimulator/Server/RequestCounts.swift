/// The requests to a store, and how often it failed on purpose.
public struct RequestCounts: Hashable, Sendable {
    /// Requests to `verifyReceipt`.
    public internal(set) var byEndpoint: [StoreEnvironment: Int] = [:]
    /// Requests to the App Store Server API, in both environments.
    public internal(set) var byServerAPIEndpoint: [ServerAPIEndpoint: Int] = [:]
    public internal(set) var salesReports = 0
    /// Requests to the App Store Server API that were answered with 401.
    public internal(set) var unauthenticated = 0
    /// Requests to the App Store Server API that came too fast.
    public internal(set) var rateLimited = 0
    public internal(set) var byFault: [Fault: Int] = [:]
    /// Requests that came during an outage; the other numbers include them.
    public internal(set) var duringOutage = 0

    public var total: Int { byEndpoint.values.reduce(0, +) + byServerAPIEndpoint.values.reduce(0, +) + salesReports }
    public var faults: Int { byFault.values.reduce(0, +) }
}

extension RequestCounts: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        let endpoints = Self.named(byEndpoint) + Self.named(byServerAPIEndpoint)
        let faults = Self.named(byFault)
        return """
            \(total) requests (\(endpoints.joined(separator: ", "))), \(self.faults) faults \
            (\(faults.joined(separator: ", "))), \(duringOutage) during an outage
            """
    }

    private static func named<Key: RawRepresentable<String>>(_ counts: [Key: Int]) -> [String] {
        counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue) \($0.value)" }
    }
}
