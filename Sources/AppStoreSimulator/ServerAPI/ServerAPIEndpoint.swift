/// The endpoints of the App Store Server API.
public enum ServerAPIEndpoint: String, Hashable, Sendable, CaseIterable {
    case transaction
    case history
    case subscriptions
    case lookup
    case refunds
    case notifications

    fileprivate var method: String { self == .notifications ? "POST" : "GET" }

    fileprivate var prefix: String {
        switch self {
        case .transaction: "/inApps/v1/transactions/"
        case .history: "/inApps/v2/history/"
        case .subscriptions: "/inApps/v1/subscriptions/"
        case .lookup: "/inApps/v1/lookup/"
        case .refunds: "/inApps/v2/refund/lookup/"
        case .notifications: "/inApps/v1/notifications/history"
        }
    }
}

/// A request to the App Store Server API.
struct ServerAPIRequest: Sendable {
    let endpoint: ServerAPIEndpoint
    /// The id at the end of the path, of a transaction or an order; empty for notifications.
    let id: String
    let query: [(name: String, value: String)]
    let authorization: String?
    let body: [UInt8]

    /// `nil` if the path, without the environment's prefix, is not an endpoint's.
    init?(_ request: Request, path: Substring) {
        guard
            let endpoint = ServerAPIEndpoint.allCases.first(where: { path.hasPrefix($0.prefix) }),
            request.method == endpoint.method
        else { return nil }
        let id = path.dropFirst(endpoint.prefix.count)
        guard id.isEmpty == (endpoint == .notifications), !id.contains("/") else { return nil }
        self.endpoint = endpoint
        self.id = String(id)
        query = request.query
        authorization = request.authorization
        body = request.body
    }

    /// The values of a parameter that may be repeated.
    func all(_ name: String) -> [String] {
        query.filter { $0.name == name }.map(\.value)
    }

    func first(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }
}
