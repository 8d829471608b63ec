import AppStoreSimulator
import Foundation
import TestSupport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a store answered.
struct Response {
    let status: Int
    let headers: [String: String]
    let body: Data

    /// The body as a JSON object, empty where it is none.
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:] }
    var code: Int? { json["status"] as? Int }
    var receipt: [String: Any] { json["receipt"] as? [String: Any] ?? [:] }
    var inApp: [[String: Any]] { receipt["in_app"] as? [[String: Any]] ?? [] }
    var latest: [[String: Any]] { json["latest_receipt_info"] as? [[String: Any]] ?? [] }
}

extension Response {
    /// Sends a request, and reads the whole answer.
    init(to request: URLRequest) async throws {
        let (data, answer) = try await URLSession.shared.data(for: request)
        let http = answer as! HTTPURLResponse
        let headers = http.allHeaderFields.reduce(into: [String: String]()) {
            $0["\($1.key)".lowercased()] = "\($1.value)"
        }
        self.init(status: http.statusCode, headers: headers, body: data)
    }
}

/// A client of `verifyReceipt` that knows nothing of the simulator.
enum Client {
    static func verify(
        _ payload: String, at url: String, password: String? = nil, excludeOld: Bool = false
    ) async throws -> Response {
        var fields: [String: Any] = ["receipt-data": payload, "exclude-old-transactions": excludeOld]
        fields["password"] = password
        return try await post(JSONSerialization.data(withJSONObject: fields), to: url)
    }

    static func post(
        _ body: Data, to url: String, method: String = "POST"
    ) async throws -> Response {
        var request = URLRequest(url: URL(string: url)!)
        request.httpMethod = method
        if method == "POST" { request.httpBody = body }
        return try await Response(to: request)
    }
}

extension Client {
    /// What the program curl says, for what Foundation can't do: trust a further authority, give up early.
    static func curl(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        let ended = try await ChildProcess.run("/usr/bin/curl", ["-s"] + arguments)
        return (ended.status, ended.output)
    }
}

/// A store that runs for the length of a test.
func withStore<Result>(
    _ store: SimulatedAppStore, tls: Bool = false,
    _ body: (SimulatedAppStore.Addresses) async throws -> Result
) async throws -> Result {
    let addresses = try store.start(tlsPort: tls ? 0 : nil)
    defer { store.stop() }
    return try await body(addresses)
}

/// The moment at which the tests' stores live.
let testNow = Date(timeIntervalSince1970: 1_795_000_000)

/// An app receipt with these transactions, made a day before the tests' now.
func receipt(
    _ transactions: [SimulatedTransaction], bundleID: String = "com.example.game",
    environment: StoreEnvironment = .production
) -> SimulatedReceipt {
    SimulatedReceipt(
        bundleID: bundleID, environment: environment, account: "account-1",
        createdAt: testNow.addingTimeInterval(-86_400), transactions: transactions)
}

/// A consumable bought two days before the tests' now.
func consumable(_ id: String) -> SimulatedTransaction {
    SimulatedTransaction(
        id: id, productID: "com.example.game.gems.60", purchasedAt: testNow.addingTimeInterval(-2 * 86_400))
}
