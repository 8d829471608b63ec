/// Why a line of a file, or a row of a source, was not taken.
public enum RefusalReason: String, Hashable, Sendable, CaseIterable {
    /// Not CSV by RFC 4180, not a JSON object, or with another number of fields than the header.
    case malformed
    /// Longer than any receipt may be.
    case tooLong = "too_long"
    /// A text that is not UTF-8, or holds a NUL, which PostgreSQL can't store.
    case notText = "not_text"
    /// A field of JSON that this kind of line doesn't have.
    case unknownField = "unknown_field"
    case missing
    case badValue = "bad_value"
    /// The ledger says otherwise.
    case contradiction
    /// Of an app without a section in the configuration; if it has no sections at all, an import may hold any app.
    case unknownApp = "unknown_app"
}
