import Foundation

@testable import AppStoreSimulator

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A client of the App Store Server API that knows no more than HTTP.
struct APIClient {
    /// What the token says; each may be made wrong.
    struct Token {
        var key = TestKeys.usual.api.key
        var keyID = APIKey.keyID
        var issuer = APIKey.issuerID
        var audience = "appstoreconnect-v1"
        var bundleID = "com.example.game"
        var issuedAt = Date()
        var life = 1200.0

        var text: String {
            let begin = Int(issuedAt.timeIntervalSince1970)
            let header = #"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#
            let claims = """
                {"iss":"\(issuer)","iat":\(begin),"exp":\(begin + Int(life)),"aud":"\(audience)","bid":"\(bundleID)"}
                """
            let signed = Base64URL.text(Array(header.utf8)) + "." + Base64URL.text(Array(claims.utf8))
            return signed + "." + Base64URL.text(key.rawSignature(over: Array(signed.utf8)))
        }
    }

    let base: String
    var token: String? = Token().text

    func get(_ path: String) async throws -> Response {
        try await send(path, nil)
    }

    func post(_ path: String, _ fields: [String: Any]) async throws -> Response {
        try await send(path, JSONSerialization.data(withJSONObject: fields))
    }

    private func send(_ path: String, _ body: Data?) async throws -> Response {
        var request = URLRequest(url: URL(string: base + path)!)
        request.httpMethod = body == nil ? "GET" : "POST"
        request.httpBody = body
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        return try await Response(to: request)
    }
}

extension Response {
    var errorCode: Int? { json["errorCode"] as? Int }

    /// The ids in the list of signed transactions.
    var transactionIDs: [String] {
        (json["signedTransactions"] as? [String] ?? []).compactMap { payload($0)["transactionId"] as? String }
    }

    /// What a JWS says, unverified.
    func payload(_ jws: String) -> [String: Any] {
        let parts = jws.split(separator: ".")
        guard parts.count == 3, let bytes = Base64URL.bytes(parts[1]) else { return [:] }
        return (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
    }
}

/// A store whose one customer bought so many consumables, an hour apart, ending a day before now.
func storeWithPurchases(
    _ count: Int, rateLimits: RateLimits = .none, faults: Faults = .none,
    now: @escaping @Sendable () -> Date = { testNow }
) -> SimulatedAppStore {
    var records = StoreRecords(apps: [
        SimulatedApp(bundleID: "com.example.game", seed: 7), SimulatedApp(bundleID: "com.example.reader", seed: 7),
    ])
    for number in 0..<count { records.add(purchase(number, of: count)) }
    return SimulatedAppStore(seed: 7, records: records, faults: faults, rateLimits: rateLimits, now: now)
}

func purchase(_ number: Int, of count: Int, in environment: StoreEnvironment = .production) -> StoredPurchase {
    let purchasedAt = testNow.addingTimeInterval(-86_400 + Double(number - count) * 3_600)
    let transaction = SimulatedTransaction(
        id: String(370_000_000_000_000 + number), productID: "com.example.game.gems.60", purchasedAt: purchasedAt,
        price: SimulatedTransaction.Price(milliunits: 990, currency: "USD"))
    return StoredPurchase(
        transaction, bundleID: "com.example.game", environment: environment, account: "account-1")
}
