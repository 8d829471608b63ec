/// What the check of a receipt's signature on this machine said.
public enum OfflineSignature: String, Hashable, Sendable, Codable, CaseIterable {
    /// Apple signed exactly this.
    case valid
    /// The signature is wrong: the contents were changed, or nobody signed them so.
    case invalid
    /// The signature is right, but nothing shows that Apple made it.
    case untrusted
    /// Nothing is signed.
    case absent
}
