import AppStore
import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// Whether Apple answers, and takes what the configuration says of each app.
extension Doctor {
    /// Apple answers an empty receipt with a status: that it answers at all is what counts.
    func apple() async -> [Finding] {
        do {
            let services = try AppleServices(settings.apple, apps: settings.apps)
            return try await verifyReceipt(services) + serverAPI(services) + receiptsAtHand(services)
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
                            "Mend what this names: in [app \(bundleID)] server_api_issuer_id, server_api_key_id and "
                            + "server_api_key_file, or in [apple] certificate_authorities."))
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
        case .genuine, .notGenuine, .malformedOrOutage, .needsSecret, .accountGone:
            return [Finding("Apple", .fine, "answers")]
        case .tryAgain(let why):
            return [
                Finding(
                    "Apple", why.isTransport ? .wrong : .warning, why.text,
                    remedy: "Check the way out to \(settings.apple.verifyReceiptProduction).")
            ]
        case .needsConfiguration(let what):
            return [Finding("Apple", .wrong, what, remedy: "Mend what this names, in [apple].")]
        case .notTried:
            return [Finding("Apple", .warning, "was not asked")]
        }
    }

    /// Apple looks at a shared secret only if a receipt has subscriptions, and at an app only if a transaction is its
    /// own. So each app's latest receipt at hand is verified as the night would do it, and nothing is written.
    private func receiptsAtHand(_ services: AppleServices) async throws -> [Finding] {
        // If the database can't be read, another finding says so.
        guard let session = try? await LedgerSession.connect(LedgerSettings(database: settings.database)) else {
            return []
        }
        defer { session.close() }
        var findings: [Finding] = []
        for var app in settings.apps {
            // The same if it went away since.
            guard let receipt = try? await session.receiptAtHand(of: app.app.bundleID) else { continue }
            app.mostHistoryPages = 1
            for verifier in services.verifiers(of: [app], now: Date()) {
                let verdict = try await verifier.judge(receipt.payload).verdict
                findings.append(Self.finding(on: receipt, of: app, verdict))
            }
        }
        return findings
    }

    private static func finding(on receipt: ReceiptAtHand, of app: AppSettings, _ verdict: ReceiptVerdict) -> Finding {
        let name = "a receipt of \(app.app.bundleID)"
        switch verdict {
        case .verified:
            let proves = receipt.hasSubscription || app.asksServerAPI || app.verification == .local
            return Finding(
                name, .fine,
                proves
                    ? "\(receipt.id) is verified"
                    : "\(receipt.id) is verified; it has no subscription, so it doesn't prove the shared secret")
        case .problem(.needsConfiguration, let text):
            return Finding(
                name, .wrong, "\(receipt.id): \(text)",
                remedy: "Mend what this names, in [app \(app.app.bundleID)] or in [apple].")
        case .problem(_, let text):
            return Finding(
                name, .warning, "\(receipt.id), which was verified before: \(text)",
                remedy: "Run doctor again later; where it stays so, compare [app \(app.app.bundleID)] with App Store "
                    + "Connect.")
        case .notTried:
            return Finding(name, .warning, "was not asked about")
        }
    }
}
