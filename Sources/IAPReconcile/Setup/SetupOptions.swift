import Foundation
import Reconciliation

/// What the command line says of `setup`; what it leaves out is asked, or is not wanted.
struct SetupOptions: Sendable {
    static let defaultUser = "iap-reconcile"

    /// As libpq understands it, or the database's name alone; `nil` where it is to be asked.
    var database: String?
    /// `nil` for what the database suggests.
    var login: LoginKind?
    /// The user of the system that the job runs as.
    var user = Self.defaultUser
    var app: SetupApp?
    var isEnablingTimer = false
    /// Whether every question is answered with yes, unasked.
    var isAgreed = false
    var isDryRun = false
}

/// How the job logs in to PostgreSQL.
enum LoginKind: String, CaseIterable, Sendable {
    /// By the system's user at the other end of a socket.
    case peer
    case password
}

/// An app, and by what it is verified.
struct SetupApp: Sendable, Equatable {
    let bundleID: BundleID
    /// Where the shared secret lies now.
    var sharedSecretFile: String?
    var key: Key?
    /// From when on the app's server says what it delivers.
    var since: Date?

    /// A key for the App Store Server API.
    struct Key: Sendable, Equatable {
        /// Where it lies now.
        let file: String
        let keyID: String
        let issuerID: String
    }
}
