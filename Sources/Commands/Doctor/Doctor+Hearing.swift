import Foundation
import Job
import Ledger
import Reconciliation
import Verification

extension Doctor {
    /// Whether what Apple tells by itself arrives, for each app that has a key or whose server hands notifications on.
    func hearings(_ session: LedgerSession) async throws(LedgerError) -> [Finding] {
        let now = try await session.time().server
        return try await session.hearings(of: settings.apps.map(\.app), now: now).flatMap { hearing in
            let findings = Self.findings(on: hearing, now: now)
            let heard = hearing.lastSignedAt.map { "the latest of \($0.formatted(.iso8601))" } ?? "none yet"
            return findings.isEmpty ? [Finding(Self.name(of: hearing), .fine, heard)] : findings
        }
    }

    private static func name(of hearing: HearingFigures) -> String { "notifications of \(hearing.bundleID)" }

    private static let url = """
        Look in App Store Connect, App Information, App Store Server Notifications, at the production URL and version 2, \
        and at what the app's server answers there: Apple wants 200.
        """

    static func findings(on hearing: HearingFigures, now: Date) -> [Finding] {
        var findings: [Finding] = []
        if let problem = hearing.problem {
            findings.append(
                Finding(
                    name(of: hearing), .warning, "Apple's history was not read to its end: \(problem)",
                    remedy: "Mend the setting, if it names one. The next run goes on where it stopped."))
        }
        if hearing.isDrySpell(at: now), let last = hearing.lastSignedAt {
            let delivered = hearing.deliveredSince.counted("purchase was", "purchases were")
            let text = "none since \(last.formatted(.iso8601)), and \(delivered) delivered since"
            findings.append(Finding(name(of: hearing), .warning, text, remedy: url))
        }
        if hearing.unsent > 0 {
            let text =
                "Apple could not send \(hearing.unsent) in three days (\(hearing.whyUnsent ?? "no reason given"))"
            findings.append(Finding(name(of: hearing), .warning, text, remedy: url))
        }
        return findings
            + hearing.notTaken.map { notTaken in
                notTaken.heardBy == .history
                    ? Finding(
                        name(of: hearing), .warning,
                        "\(notTaken.notices) in Apple's history were not taken: \(notTaken.problem)",
                        remedy: "They lie in iap.handed_notices; each night tries them again for a month.")
                    : Finding(
                        name(of: hearing), .warning,
                        "\(notTaken.notices) that the app's server handed on were not taken: \(notTaken.problem)",
                        remedy: "Look at who calls iap.submit_notification, and for which app; "
                            + "they lie in iap.handed_notices.")
            }
    }
}
