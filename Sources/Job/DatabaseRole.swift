/// The role as which a command works in the database, and the key of `[database]` that names its login.
package enum DatabaseRole {
    case job, support, privacy, imports

    /// What to say if the database refuses another.
    var explanation: String {
        switch self {
        case .job: "the job works as role iap_job: name its login with “conninfo”"
        case .support: "the support desk works as role iap_support: name its login with “support_conninfo”"
        case .privacy: "erase works as role iap_privacy: name its login with “privacy_conninfo”"
        case .imports: "import works as role iap_import: name its login with “import_conninfo”"
        }
    }
}
