import Foundation

/// What Apple signs in a JWS, with the claims that decide whether it is accepted.
protocol SignedPayload: Sendable {
    /// `nil` if the payload lacks Apple's form in a part without which it means nothing.
    init?(_ payload: JSONObject)

    /// When Apple signed it: the time at which its certificates must be valid.
    var signedDate: Date? { get }
    /// The environment, as sent.
    var environment: String? { get }
    /// The claims about the app; `nil` for a payload that has none.
    var app: AppClaims? { get }
}

/// The app that a payload claims to be for.
struct AppClaims: Sendable, Hashable {
    var bundleID: String?
    /// `nil` for a payload that never says it.
    var appAppleID: AppAppleID?

    enum AppAppleID: Sendable, Hashable {
        case absent
        case present(Int64)

        init(_ number: Int64?) {
            self = number.map(AppAppleID.present) ?? .absent
        }

        var number: Int64? {
            if case .present(let number) = self { number } else { nil }
        }
    }
}
