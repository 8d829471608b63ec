/// The case that a line of a report is about, and the state that it was in when the report was written.
public struct CaseMark: Hashable, Sendable {
    public let key: TransactionKey
    /// As `iap.case_mark` gives it.
    public let standing: String

    public init(key: TransactionKey, standing: String) {
        self.key = key
        self.standing = standing
    }

    /// The mark as a cell holds it: no id has a space, and no spreadsheet takes it for a number.
    public var text: String {
        [key.bundleID.text, key.environment.rawValue, key.id.text, standing].joined(separator: " ")
    }

    /// `nil` if the text is no case's mark.
    public init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let bundleID = BundleID(parts[0]), let environment = Environment(rawValue: parts[1]),
            let id = TransactionID(parts[2]), parts[3].utf8.count == 17,
            parts[3].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        self.init(key: TransactionKey(id: id, bundleID: bundleID, environment: environment), standing: parts[3])
    }
}
