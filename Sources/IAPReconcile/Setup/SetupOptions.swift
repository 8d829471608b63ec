import Foundation
import Reconciliation

/// The options of `setup`; what is left out is asked, or is not wanted.
struct SetupOptions: Sendable {
    static let defaultUser = "iap-reconcile"

    /// A connection string of libpq, or only the database's name; `nil` to ask for it.
    var database: String?
    /// `nil` for what the database suggests.
    var login: LoginKind?
    /// The system user that the job runs as.
    var user = Self.defaultUser
    var app: SetupApp?
    var isEnablingTimer = false
    /// Whether every question counts as answered with yes, without asking.
    var isAgreed = false
    var isDryRun = false
}

/// How the job logs in to PostgreSQL.
enum LoginKind: String, CaseIterable, Sendable {
    /// By the system user at the other end of a socket.
    case peer
    case password
}

/// An app, and what it is verified with.
struct SetupApp: Sendable, Equatable {
    let bundleID: BundleID
    /// The present path of the shared secret.
    var sharedSecretFile: String?
    var key: Key?
    /// From when on the app's server reports its deliveries.
    var since: Date?

    /// A key for the App Store Server API.
    struct Key: Sendable, Equatable {
        /// Its present path.
        let file: String
        let keyID: String
        let issuerID: String
    }
}
