/// What is known of a proof's signature.
public enum SignatureStatus: Sendable, Hashable {
    /// Apple, or a signer whom the user trusts, signed exactly this.
    case valid
    /// There is a signature, and it is wrong.
    case invalid(String)
    /// The signature is right, but nothing shows that Apple made it.
    case untrusted(String)
    /// The signature is right, and its certificates end in a root that is none of ours.
    case unknownRoot(String)
    /// There is no signature.
    case absent

    /// Why it is not valid.
    public var reason: String? {
        switch self {
        case .valid: nil
        case .invalid(let reason), .untrusted(let reason), .unknownRoot(let reason): reason
        case .absent: "nothing is signed"
        }
    }
}
