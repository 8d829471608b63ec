import Foundation
import Synchronization

/// The token (ES256, RFC 7519) that is sent with each request, kept until shortly before it expires.
final class AppStoreConnectToken: Sendable {
    /// What a token gives access to.
    enum Scope: Sendable {
        /// The App Store Server API of one app, which accepts less than 60 minutes.
        case app(bundleID: String)
        /// The App Store Connect API, which accepts 20 minutes at most.
        case team

        /// Seconds for which a token is valid from now on.
        var lifetime: TimeInterval {
            switch self {
            case .app: 50 * 60
            case .team: 15 * 60
            }
        }

        /// Seconds before its end from which on a token is no longer given out, so that it outlives waiting and a slow
        /// request.
        fileprivate var margin: TimeInterval { lifetime / 5 }

        fileprivate var bundleID: String? {
            if case .app(let bundleID) = self { bundleID } else { nil }
        }
    }

    private struct Issued {
        let text: String
        let at: Date
    }

    /// A refused token younger than this was not refused for its age, nor for a clock that was set meanwhile.
    private static let fresh: TimeInterval = 60

    /// By how many seconds a token is dated back. Apple refuses one that was made after Apple's present, and clocks that
    /// are a second ahead are common: https://github.com/awa/go-iap/issues/277
    private static let backdating = 120

    private let credentials: AppStoreConnectCredentials
    private let scope: Scope
    private let date: @Sendable () -> Date
    private let issued = Mutex<Issued?>(nil)

    init(_ credentials: AppStoreConnectCredentials, for scope: Scope, date: @escaping @Sendable () -> Date) {
        self.credentials = credentials
        self.scope = scope
        self.date = date
    }

    /// Returns a token that stays valid for some minutes at least.
    func current() throws(AppStoreConnectKeyError) -> String {
        let now = date()
        return try issued.withLock { issued throws(AppStoreConnectKeyError) in
            if let issued, (0..<scope.lifetime - scope.margin).contains(now.timeIntervalSince(issued.at)) {
                return issued.text
            }
            let token = Issued(text: try make(at: now), at: now)
            issued = token
            return token.text
        }
    }

    /// Notes that Apple refused the token. Returns whether another attempt may fare better: it may if the token is
    /// replaced, but one just made was refused for another reason than its age.
    func discard(_ text: String) -> Bool {
        issued.withLock { token in
            guard let current = token, current.text == text else { return true }
            let age = date().timeIntervalSince(current.at)
            guard age < 0 || age >= Self.fresh else { return false }
            token = nil
            return true
        }
    }

    private func make(at now: Date) throws(AppStoreConnectKeyError) -> String {
        let present = Int(now.timeIntervalSince1970)
        let header = Header(kid: credentials.keyID)
        let claims = Claims(
            iss: credentials.issuerID, iat: present - Self.backdating, exp: present + Int(scope.lifetime),
            bid: scope.bundleID)
        let input = Self.encode(header) + "." + Self.encode(claims)
        return input + "." + Base64URL.encode(try credentials.key.sign(Array(input.utf8)))
    }

    private static func encode(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and integers always encode.
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
        let bid: String?
    }
}
