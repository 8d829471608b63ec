import AppStore
import Foundation
import Ledger
import Reconciliation

/// Examines everything outside that a run relies on, and says how to mend what is wrong.
public struct Doctor: Sendable {
    /// What the examination of one thing came to.
    public struct Finding: Sendable {
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

    /// - Parameters:
    ///   - supportDatabase: the conninfo of the support desk, where it has one of its own.
    ///   - privacyDatabase: that of whoever erases a person's data.
    public init(settings: JobSettings, supportDatabase: String? = nil, privacyDatabase: String? = nil) {
        self.settings = settings
        self.supportDatabase = supportDatabase
        self.privacyDatabase = privacyDatabase
    }

    /// Examines the database, the apps' secrets and Apple. Changes nothing.
    public func examine() async -> [Finding] {
        await database() + desks() + sources() + apps() + addresses() + apple()
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
            return [connected, Finding("schema", .fine, "current")] + Self.findings(try await session.examine())
                + (try await toMend(session)) + (try await connections(session))
        } catch {
            return [
                Finding(
                    "database", .wrong, error.description,
                    remedy: "Check conninfo in [database], and that PostgreSQL runs and lets this user in.")
            ]
        }
    }

    /// Which apps never delivered anything in a way that the job sees: of those nothing is called lost.
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

    private static let pooled = Finding(
        "sessions", .wrong, "a proxy between here and PostgreSQL pools transactions, so locks don't hold",
        remedy: "Connect to PostgreSQL itself, or to a pool of sessions (pool_mode = session).")

    private static func findings(_ found: DatabaseExamination) -> [Finding] {
        var findings: [Finding] = []
        if found.serverVersion < 150_000 {
            findings.append(
                Finding("version", .wrong, "PostgreSQL is older than 15", remedy: "Use PostgreSQL 15 or newer."))
        }
        findings.append(
            found.missingRights.isEmpty
                ? Finding("grants", .fine, "the role has the rights that the job needs")
                : Finding(
                    "grants", .wrong, "the role lacks \(found.missingRights.joined(separator: ", "))",
                    remedy: "Run sql/roles.sql as an administrator, and connect as iap_job or a member of it."))
        if found.isTooPowerful {
            findings.append(
                Finding(
                    "role", .warning, "the role owns the tables or is a superuser",
                    remedy: "Connect as iap_job, which can't change the audit trail."))
        }
        findings.append(clock(found.clockDifference))
        return findings + state(of: found)
    }

    private static func clock(_ difference: TimeInterval) -> Finding {
        let seconds = Int(difference.magnitude.rounded())
        return seconds <= 5
            ? Finding("clock", .fine, "agrees with PostgreSQL's")
            : Finding(
                "clock", .warning, "differs from PostgreSQL's by \(seconds) seconds",
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
                name, .warning, "is verified by signature alone: refunds are never noticed",
                remedy: "Set verification = auto, with a key for the App Store Server API or a shared secret.")
        }
        return app.sharedSecret == nil
            ? Finding(
                name, .warning, "has no shared secret: Apple refuses its receipts with subscriptions",
                remedy: "Set shared_secret_file, unless the app sells no subscriptions.")
            : Finding(name, .fine, "has a shared secret")
    }

    /// Apple answers an empty receipt with a status: that it answers at all is what counts.
    private func apple() async -> [Finding] {
        do {
            let services = try AppleServices(settings)
            return try await verifyReceipt(services) + serverAPI(services)
        } catch {
            return [Finding("Apple", .wrong, "\(error)", remedy: "Mend the section [apple] or that of the app.")]
        }
    }

    private func serverAPI(_ services: AppleServices) async -> [Finding] {
        var findings: [Finding] = []
        for (bundleID, client) in services.serverAPI.sorted(by: { $0.key < $1.key }) {
            let name = "App Store Server API of \(bundleID)"
            switch await client.access {
            case .found, .notFound: findings.append(Finding(name, .fine, "takes the key"))
            case .needsConfiguration(let what):
                findings.append(
                    Finding(
                        name, .wrong, what,
                        remedy:
                            "Mend server_api_issuer_id, server_api_key_id and server_api_key_file in [app \(bundleID)]."
                    ))
            case .tryAgain(let why):
                findings.append(
                    Finding(
                        name, why.isTransport ? .wrong : .warning, why.text,
                        remedy: "Check the way out to \(settings.apple.serverAPIProduction)."))
            case .unverified(let payload): findings.append(Finding(name, .wrong, "\(payload)"))
            case .notTried: findings.append(Finding(name, .warning, "was not asked"))
            }
        }
        return findings
    }

    private func verifyReceipt(_ services: AppleServices) async throws -> [Finding] {
        guard settings.apps.contains(where: { !$0.asksServerAPI && $0.verification != .local }) else { return [] }
        switch try await services.verifyReceipt.verify(receiptData: "AA==", sharedSecret: nil) {
        case .genuine, .notGenuine, .malformedOrOutage, .accountGone:
            return [Finding("Apple", .fine, "answers")]
        case .tryAgain(let why):
            return [
                Finding(
                    "Apple", why.isTransport ? .wrong : .warning, why.text,
                    remedy: "Check the way out to \(settings.apple.verifyReceiptProduction).")
            ]
        case .needsConfiguration(let what):
            return [Finding("Apple", .wrong, what, remedy: "Mend the section [apple].")]
        case .notTried:
            return [Finding("Apple", .warning, "was not asked")]
        }
    }
}
