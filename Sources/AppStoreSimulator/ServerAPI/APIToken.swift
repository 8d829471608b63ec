import Foundation

/// The token with which a client of the App Store Server API or of the App Store Connect API identifies itself (JWT
/// with ES256).
struct APIToken {
    private static let audience = "appstoreconnect-v1"
    /// The most seconds that a token may be valid for: one for an app, and one for the team.
    private static let longestLife: Double = 3600
    private static let longestLifeOfTeam: Double = 1200
    /// How far the client's clock may be ahead.
    private static let clockSkew: Double = 60

    private struct Header: Decodable {
        let alg: String
        let kid: String
    }

    private struct Claims: Decodable {
        let iss: String
        let iat: Double
        let exp: Double
        let aud: String
        let bid: String?
    }

    /// The app that the client asks about; `nil` if it asks as the team.
    let bundleID: String?

    /// `nil` for a token that Apple would answer with 401.
    ///
    /// - Parameter authorization: the header's value, `Bearer` and the token.
    init?(authorization: String?, key: APIKey, now: Date) {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
        let token = authorization.dropFirst("Bearer ".count)
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.decode(Header.self, parts[0]),
            let claims = Self.decode(Claims.self, parts[1]), let signature = Base64URL.bytes(parts[2]),
            header.alg == "ES256", header.kid == APIKey.keyID,
            key.isGenuine(signature, over: Array("\(parts[0]).\(parts[1])".utf8)), claims.iss == APIKey.issuerID,
            claims.aud == Self.audience, Self.isValid(claims, now.timeIntervalSince1970)
        else { return nil }
        bundleID = claims.bid
    }

    private static func isValid(_ claims: Claims, _ now: Double) -> Bool {
        claims.iat <= now + clockSkew && claims.exp > now
            && claims.exp - claims.iat <= (claims.bid == nil ? longestLifeOfTeam : longestLife)
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ part: Substring) -> Value? {
        Base64URL.bytes(part).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }
}
