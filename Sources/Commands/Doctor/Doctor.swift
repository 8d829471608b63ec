import AppStore
import Foundation
public import Job
import Ledger
import Reconciliation
import Verification

/// Examines everything outside that a run relies on, and says how to mend what is wrong.
public struct Doctor: Sendable {
    /// What the examination of one thing came to.
    public struct Finding: Sendable {
        /// Whether a night can go on with it. One thing that is wrong makes `doctor` end with 78.
        public enum Verdict: String, Sendable {
            case fine, warning, wrong
        }

        public let name: String
        public let verdict: Verdict
        public let text: String
        /// What to do about it.
        public let remedy: String?
        /// What was seen, a line each.
        public let details: [String]

        public init(
            _ name: String, _ verdict: Verdict, _ text: String, remedy: String? = nil, details: [String] = []
        ) {
            self.name = name
            self.verdict = verdict
            self.text = text
            self.remedy = remedy
            self.details = details
        }
    }

    let settings: JobSettings
    let supportDatabase: String?
    let privacyDatabase: String?
    let decisionsDirectory: String?

    /// - Parameters:
    ///   - supportDatabase: the conninfo of the support desk, if it has one of its own.
    ///   - privacyDatabase: that of whoever erases a person's data.
    ///   - decisionsDirectory: the folder of the files of decisions that the night takes; `nil` if there is none.
    public init(
        settings: JobSettings, supportDatabase: String? = nil, privacyDatabase: String? = nil,
        decisionsDirectory: String? = nil
    ) {
        self.decisionsDirectory = decisionsDirectory
        self.settings = settings
        self.supportDatabase = supportDatabase
        self.privacyDatabase = privacyDatabase
    }

    /// Examines the database, the apps' secrets and Apple. Changes nothing.
    public func examine() async -> [Finding] {
        await database() + desks() + sources() + apps() + addresses() + apple() + sales() + decisions()
    }

    private func database() async -> [Finding] {
        do {
            let session = try await LedgerSession.connect(LedgerSettings(database: settings.database))
            defer { session.close() }
            let connected = Finding("database", .fine, "connected")
            if try await session.isPooledByTransaction(LedgerSettings(database: settings.database)) {
                return [connected, Self.pooled]
            }
            do {
                try await session.checkEncoding()
                try await session.checkSchema()
            } catch .schema(let text) {
                return [connected, Finding("schema", .wrong, text)]
            }
            let found = try await session.examine()
            let first = [connected, Finding("schema", .fine, "current")] + Self.findings(on: found)
            // What follows reads tables.
            guard found.missingRights.isEmpty else { return first }
            let cluster = try await cluster(session)
            guard cluster.allSatisfy({ $0.verdict != .wrong }) else { return first + cluster }
            do {
                try await session.checkSequences()
            } catch .schema(let text) {
                return first + cluster + [Finding("sequences", .wrong, text)]
            }
            return first + cluster + state(at: try await session.time()) + (try await toMend(session))
                + (try await hearings(session)) + (try await connections(session))
        } catch .forbidden(let text) {
            // The remedy is the same as before sql/roles.sql was run.
            let remedy = Self.grantingAgain("connect as iap_job or a member of it")
            return [Finding("database", .wrong, text, remedy: remedy)]
        } catch {
            return [Finding("database", .wrong, error.description, remedy: Self.connecting(after: error.description))]
        }
    }

    /// libpq does not say what OpenSSL has against a certificate.
    private static func connecting(after problem: String) -> String {
        problem.contains("certificate verify failed")
            ? "Renew PostgreSQL's certificate if it has expired; otherwise name its authority's in sslrootcert."
            : "Check conninfo in [database], and that PostgreSQL runs and lets this user in."
    }

    /// The apps that never delivered anything in a way that the job sees: nothing of theirs is called lost.
    private func connections(_ session: LedgerSession) async throws(LedgerError) -> [Finding] {
        let apps = settings.apps.map(\.app)
        let deliveries = try await session.expectedDeliveries(of: apps)
        let seen = try await session.unjudged(deliveries).filter { $0.cause == .notConnected }
        return apps.compactMap { app in
            let own = deliveries.filter { $0.bundleID == app.bundleID }
            let waiting = seen.filter { $0.bundleID == app.bundleID }
            guard own.allSatisfy({ $0.mode == nil }) || !waiting.isEmpty else { return nil }
            let types = waiting.map { "\($0.transactions) of \($0.productType?.rawValue ?? "unknown") type" }
            return Finding(
                "delivery of \(app.bundleID)", .warning,
                types.isEmpty
                    ? "its server has not said yet what it delivers, so nothing is called lost"
                    : "its server has not said yet what it delivers, so these paid purchases are not looked at: "
                        + types.joined(separator: ", "),
                remedy: "Let it call iap.claim or iap.entitle where it delivers, name tables of its own in "
                    + "[source delivered] or [source entitlements], or set consumable, non_consumable, auto_renewable, "
                    + "non_renewing in its section.")
        }
    }

    /// How to give a role the rights that it lacks, and whose login it should be.
    static func grantingAgain(_ login: String) -> String {
        "Run iap-reconcile setup, or sql/roles.sql as an administrator, again, and \(login)."
    }

    private static let pooled = Finding(
        "sessions", .wrong, "a proxy between here and PostgreSQL pools transactions, so locks don't hold",
        remedy: "Connect to PostgreSQL itself, or to a pool of sessions (pool_mode = session).")

    static func clock(_ difference: TimeInterval) -> Finding {
        let seconds = Int(difference.magnitude.rounded())
        guard seconds > 5 else { return Finding("clock", .fine, "agrees with PostgreSQL's") }
        let isBearable = difference.magnitude <= Present.bearable
        return Finding(
            "clock", isBearable ? .warning : .wrong,
            "differs from PostgreSQL's by \(seconds) seconds" + (isBearable ? "" : ": every run is refused"),
            remedy: "Set both machines' clocks by NTP.")
    }

    private func apps() -> [Finding] {
        if settings.apps.isEmpty {
            return [
                Finding(
                    "apps", .wrong, "no app is configured", remedy: "Add a section [app BUNDLE_ID] for each app.")
            ]
        }
        return settings.apps.map(Self.finding)
    }

    private static func finding(on app: AppSettings) -> Finding {
        let name = "app \(app.app.bundleID)"
        if app.asksServerAPI {
            return app.app.since == nil
                ? Finding(
                    name, .warning, "has no “since”: all that its customers ever bought and no claim names is a case",
                    remedy: "Set since to the day from which iap.claim knows each delivery.")
                : Finding(name, .fine, "is verified by the App Store Server API")
        }
        if app.verification == .local {
            return Finding(
                name, .warning,
                "is verified by signature alone: a refund is noticed only where the app's server hands on Apple's "
                    + "notification of it, and what a family shares counts as bought where only an app receipt tells of it",
                remedy: "Set verification = auto, with a key for the App Store Server API or a shared secret.")
        }
        guard let secret = app.sharedSecret else {
            return Finding(
                name, .warning, "has no shared secret: Apple refuses its receipts with subscriptions",
                remedy: "Set shared_secret_file, unless the app sells no subscriptions.")
        }
        return secret.hasFormOfApples
            ? Finding(name, .fine, "has a shared secret")
            : Finding(
                name, .warning, "has a shared secret that is none of Apple's: those are 32 hexadecimal digits",
                remedy: "Copy it from App Store Connect into a file of plain text, with nothing else in it.")
    }
}
