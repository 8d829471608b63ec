/// Why a signed payload is not accepted. The texts show nothing of a JWS but an identifier of the app, or the name of
/// an environment or an algorithm.
public enum JWSError: Error, Sendable, Hashable {
    /// More bytes than the limit.
    case tooLarge(limit: Int)
    /// Not three texts of base64url separated by full stops; the sentence says what is wrong.
    case notCompact(String)
    /// The header differs from Apple's; the sentence says how.
    case malformedHeader(String)
    /// The header names an algorithm other than ES256.
    case algorithm(String)
    /// `x5c` does not have three certificates, but this many.
    case certificateCount(Int)
    /// The payload is not a JSON object.
    case malformedPayload
    /// The payload doesn't say when it was signed, so its certificates can't be judged.
    case noSigningDate
    /// The certificates don't lead to a trusted root, lack Apple's markers, or had expired when the payload was signed.
    case chain(ChainError)
    /// The certificate's key is not one for ES256.
    case keyNotP256
    /// The signature is not 64 bytes; the sentence says what it is.
    case malformedSignature(String)
    /// The signature is not by the certificate's key, or over other contents.
    case wrongSignature
    /// The payload is for another app.
    case bundleID(found: String?, expected: String)
    /// The payload is for another app, by the number that the App Store gives apps. In production only.
    case appAppleID(found: Int64?, expected: Int64)
    /// The payload was made in an environment that the caller does not expect.
    case environment(found: String?)
    /// The payload was signed by Xcode or a local test, which anyone can do, and the settings don't allow that.
    case notSignedByApple(AppStoreEnvironment)
    /// Something that a notification carries is not accepted.
    indirect case nested(String, JWSError)
}

extension JWSError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooLarge(let limit): "the JWS is larger than \(limit) bytes"
        case .notCompact(let why): "not a JWS in compact form: \(why)"
        case .malformedHeader(let why): "the JWS header is malformed: \(why)"
        case .algorithm(let found): "the JWS is signed with \(Self.shown(found)); only ES256 is accepted"
        case .certificateCount(let count): "the JWS header has \(count) certificates (x5c) in place of three"
        case .malformedPayload: "the signed payload is not a JSON object"
        case .noSigningDate: "the signed payload doesn't say when it was signed"
        case .chain(let error): "the certificates of the JWS are not accepted: \(error)"
        case .keyNotP256: "the certificate's key is not on the curve P-256"
        case .malformedSignature(let why): "the JWS signature is malformed: \(why)"
        case .wrongSignature: "the JWS signature is wrong: the contents were changed, or another key signed them"
        case .bundleID(let found, let expected):
            "it is for the app \(Self.shown(found)), not for \(expected)"
        case .appAppleID(let found, let expected):
            "it is for the app with App Store id \(Self.shown(found.map(String.init))), not for \(expected)"
        case .environment(let found): "it was made in the environment \(Self.shown(found)), which is not expected here"
        case .notSignedByApple(let environment):
            "it was made in the environment \(environment.rawValue), where anyone can sign; the settings don't allow it"
        case .nested(let part, let error): "\(part): \(error)"
        }
    }

    /// What a JWS claims, shortened and without control characters: anybody may have made it, and PostgreSQL, which
    /// keeps the texts, takes no NUL.
    private static func shown(_ text: String?) -> String {
        guard let text else { return "(none)" }
        return "“" + String(String.UnicodeScalarView(text.unicodeScalars.prefix(100).filter { $0.value >= 0x20 })) + "”"
    }
}
