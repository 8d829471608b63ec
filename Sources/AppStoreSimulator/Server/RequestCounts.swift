/// What a store was asked, and how often it failed on purpose.
public struct RequestCounts: Hashable, Sendable {
    public internal(set) var byEndpoint: [StoreEnvironment: Int] = [:]
    public internal(set) var byFault: [Fault: Int] = [:]
    /// Requests that came during an outage; `byEndpoint` has them too.
    public internal(set) var duringOutage = 0

    public var total: Int { byEndpoint.values.reduce(0, +) }
    public var faults: Int { byFault.values.reduce(0, +) }
}

extension RequestCounts: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        let endpoints = byEndpoint.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { "\($0.key.rawValue) \($0.value)" }
        let faults = byFault.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue) \($0.value)" }
        return """
            \(total) requests (\(endpoints.joined(separator: ", "))), \(self.faults) faults \
            (\(faults.joined(separator: ", "))), \(duringOutage) during an outage
            """
    }
}
