package import Ledger

/// A role that this program itself logs in as, and that the configuration names a login for.
public enum LoginRole: CaseIterable, Sendable {
    case job, support, privacy, imports

    package var ledgerRole: LedgerRole {
        switch self {
        case .job: .job
        case .support: .support
        case .privacy: .privacy
        case .imports: .imports
        }
    }

    /// The role's name in the database.
    public var name: String { ledgerRole.rawValue }

    /// The key in `[database]` that names its login.
    public var key: String {
        switch self {
        case .job: "conninfo"
        case .support: "support_conninfo"
        case .privacy: "privacy_conninfo"
        case .imports: "import_conninfo"
        }
    }

    /// What to say if the database refuses another.
    var explanation: String {
        let what =
            switch self {
            case .job: "the job works"
            case .support: "the support desk works"
            case .privacy: "erase works"
            case .imports: "import works"
            }
        return "\(what) as role \(name): name its login with “\(key)”"
    }
}
