import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// What only an examination finds out before a night does.
extension Doctor {
    /// Seconds without a night beyond which nights were missed.
    private static let longestWithoutANight: TimeInterval = 36 * 3600

    func state(at time: LedgerTime) -> [Finding] {
        var findings = [Self.clock(time.offset)] + Self.ahead(time) + upcoming(at: time.server)
        if time.isRehearsal {
            findings.append(
                Finding(
                    "rehearsal", .warning, "the database was made for replays, in which a night may close any books",
                    remedy: "Use another one for customers: migrate without --rehearsal."))
        }
        guard let seconds = time.completeAt.map(time.server.timeIntervalSince) else {
            return findings + [Finding("nights", .fine, "no run was complete yet")]
        }
        let hours = Int(seconds / 3600)
        let text = "the last complete run ended \(hours < 1 ? "within the last hour" : "\(hours) h ago")"
        return findings + [
            seconds > Self.longestWithoutANight
                ? Finding(
                    "nights", .warning, text,
                    remedy: "Look whether cron starts the job, and in its log why it is not complete.")
                : Finding("nights", .fine, text)
        ]
    }

    /// A run whose clock was ahead: no later run may be as of a moment before it.
    private static func ahead(_ time: LedgerTime) -> [Finding] {
        guard !time.isRehearsal, let latest = time.latest, latest.asOf > time.server else { return [] }
        return [
            Finding(
                "present", .wrong,
                "run \(latest.runID) was as of \(latest.asOf.formatted(.iso8601)), which is still to come: until then "
                    + "every run is refused",
                remedy: "Set PostgreSQL's clock right, or see “A clock was wrong” in docs/operate.md.")
        ]
    }

    private func upcoming(at present: Date) -> [Finding] {
        UpcomingApp.among(settings.apps, at: present).map { app in
            Finding(
                "since of \(app.bundleID)", app.isTooFarAhead ? .wrong : .warning, app.text, remedy: app.remedy)
        }
    }

    /// Settings because of which purchases are not looked at.
    func toMend(_ session: LedgerSession) async throws(LedgerError) -> [Finding] {
        try await session.settingsToMend(settings.apps.map(\.app.bundleID)).map { setting in
            let notices = setting.notices == 0 ? "" : ", notifications: \(setting.notices)"
            let waiting = "receipts: \(setting.receipts), paid purchases: \(setting.transactions)" + notices
            return switch setting.cause {
            case .refused:
                Finding(
                    "receipts of \(setting.bundleID)", .wrong, "\(setting.detail ?? "Apple refuses them") (\(waiting))",
                    remedy: "Mend the section [app \(setting.bundleID)].")
            case .noSection:
                Finding(
                    "receipts of \(setting.bundleID)", .wrong,
                    "the app has no section in the configuration (\(waiting))",
                    remedy: "Add [app \(setting.bundleID)], or let its server hand in nothing.")
            case .noProducts:
                Finding(
                    "products of \(setting.bundleID)", .warning, "iap.products has none of them (\(waiting))",
                    remedy: "iap-reconcile products --suggest prints the rows, to be filled in and imported.")
            }
        }
    }

    /// Whether the support desk and whoever erases get in and may do their work, if they have logins of their own.
    func desks() async -> [Finding] {
        await desk("support desk", supportDatabase, .support, "check and resolve need")
            + desk("privacy", privacyDatabase, .privacy, "erase needs")
    }

    private func desk(
        _ name: String, _ database: String?, _ role: LoginRole, _ needs: String
    ) async -> [Finding] {
        guard let database else { return [] }
        do {
            let session = try await LedgerSession.connect(LedgerSettings(database: database))
            defer { session.close() }
            let lacking = try await session.missingRights(of: role.ledgerRole)
            guard lacking.isEmpty else {
                return [
                    Finding(
                        name, .wrong, "the role lacks \(lacking.joined(separator: ", "))",
                        remedy: Self.grantingAgain("connect as \(role.name) or a member of it"))
                ]
            }
            let connected = Finding(name, .fine, "connected, with the rights that \(needs)")
            // Whoever erases asks the inbox in the name of the owner, as whom the job asked already.
            let refused = try await role == .privacy ? [] : refusedLogins(session)
            return refused.isEmpty ? [connected] : refused
        } catch {
            return [Finding(name, .wrong, error.description, remedy: "Check \(role.key) in [database].")]
        }
    }

    /// Whether a receipt or a shared secret goes over the network for everybody to read.
    func addresses() -> [Finding] {
        let apple = settings.apple
        let named = [
            apple.verifyReceiptProduction, apple.verifyReceiptSandbox, apple.serverAPIProduction,
            apple.serverAPISandbox, apple.appStoreConnect,
        ]
        return named.compactMap { address in
            guard let url = URL(string: address), url.isUnencryptedBeyondThisHost else { return nil }
            return Finding(
                "address", .wrong,
                "\(address) is asked without TLS: receipts and shared secrets can be read on the way",
                remedy: "Write https:// in [apple].")
        }
    }
}
