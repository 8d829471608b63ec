import Foundation
import Synchronization

/// The token of an app (ES256, RFC 7519) that goes along with each request, kept until it nearly ends.
final class ServerAPIToken: Sendable {
    private struct Issued {
        let text: String
        let at: Date
    }

    /// Apple accepts less than 60 minutes.
    static let lifetime: TimeInterval = 50 * 60
    /// A token is no longer given out when it ends within this time, so that it outlives waiting and a slow request.
    private static let margin: TimeInterval = 10 * 60
    /// Apple refuses a token for its age or for a clock that was set meanwhile only if it is older than this.
    private static let fresh: TimeInterval = 60

    private let credentials: ServerAPICredentials
    private let date: @Sendable () -> Date
    private let issued = Mutex<Issued?>(nil)

    init(_ credentials: ServerAPICredentials, date: @escaping @Sendable () -> Date) {
        self.credentials = credentials
        self.date = date
    }

    /// A token that is valid for some minutes at least.
    func current() throws(ServerAPIKeyError) -> String {
        let now = date()
        return try issued.withLock { issued throws(ServerAPIKeyError) in
            if let issued, (0..<Self.lifetime - Self.margin).contains(now.timeIntervalSince(issued.at)) {
                return issued.text
            }
            let token = Issued(text: try make(at: now), at: now)
            issued = token
            return token.text
        }
    }

    /// Notes that Apple refused the token. Whether the next may fare better: nothing but a new one will do, and one
    /// just made is refused for another reason than its age.
    func discard(_ text: String) -> Bool {
        issued.withLock { token in
            guard let current = token, current.text == text else { return true }
            let age = date().timeIntervalSince(current.at)
            guard age < 0 || age >= Self.fresh else { return false }
            token = nil
            return true
        }
    }

    private func make(at now: Date) throws(ServerAPIKeyError) -> String {
        let iat = Int(now.timeIntervalSince1970)
        let header = Header(kid: credentials.keyID)
        let claims = Claims(
            iss: credentials.issuerID, iat: iat, exp: iat + Int(Self.lifetime), bid: credentials.bundleID)
        let input = Self.encode(header) + "." + Self.encode(claims)
        return input + "." + Base64URL.encode(try credentials.key.sign(Array(input.utf8)))
    }

    private static func encode(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts and integers always encode.
        return Base64URL.encode((try? encoder.encode(value)) ?? Data())
    }

    private struct Header: Encodable {
        let alg = "ES256"
        let kid: String
        let typ = "JWT"
    }

    private struct Claims: Encodable {
        let iss: String
        let iat: Int
        let exp: Int
        let aud = "appstoreconnect-v1"
        let bid: String
    }
}
