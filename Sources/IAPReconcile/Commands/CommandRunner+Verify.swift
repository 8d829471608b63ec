import Commands
import Foundation
import Reconciliation
import Reporting

extension CommandRunner {
    /// Checks what must always hold of the tables. If anything does not, ends with the code of an internal error.
    func verify(asJSON: Bool, since end: String?) async throws -> ExitCode {
        var findings: [IntegrityFinding] = []
        let (trail, isContinued) = try await IntegrityAudit(settings: configuration.settings).verify(since: end) {
            findings.append($0)
            if !asJSON { StandardOutput.write(VerificationText.line($0)) }
        }
        let continuesEnd = end == nil ? nil : isContinued
        StandardOutput.write(
            asJSON
                ? try VerificationText.json(findings, trail, continuesEnd) + "\n"
                : VerificationText.summary(findings, trail, continuesEnd))
        return findings.allSatisfy(\.isFine) && isContinued ? .done : .software
    }
}

/// The output of `verify`.
enum VerificationText {
    static func line(_ finding: IntegrityFinding) -> String {
        guard !finding.isFine else { return "fine   \(finding.check.text)\n" }
        let more = finding.count > finding.examples.count ? ", …" : ""
        return "wrong  not so in \(finding.count): \(finding.check.text)\n"
            + "       \(Printable.line(finding.examples.joined(separator: ", ")))\(more)\n"
    }

    /// - Parameter isContinued: whether the trail continues the end that was given; `nil` if none was.
    static func summary(_ findings: [IntegrityFinding], _ trail: AuditTrail, _ isContinued: Bool?) -> String {
        // A given trail end is one more check.
        let checks = findings.map(\.isFine) + (isContinued.map { [$0] } ?? [])
        let wrong = checks.count { !$0 }
        let end = trail.end.isEmpty ? "" : ", its end \(trail.end)"
        let since =
            switch isContinued {
            case true?: "fine   the trail continues the end that was kept\n"
            case false?: "wrong  no link of the trail is the end that was kept: it was written anew, or is another's\n"
            case nil: ""
            }
        let entries = trail.entries.counted("entry", "entries")
        return "\(since)\n\(checks.count.counted("check")), \(wrong) not fine; trail: \(entries)\(end)\n"
    }

    static func json(_ findings: [IntegrityFinding], _ trail: AuditTrail, _ isContinued: Bool?) throws -> String {
        let report = VerificationReport(
            checks: findings.map {
                VerificationReport.Check(
                    name: $0.check.rawValue, holds: $0.isFine, violations: $0.count, examples: $0.examples)
            },
            auditTrail: VerificationReport.Trail(
                entries: trail.entries, end: trail.end, continuesSince: isContinued))
        return Printable.json(try String(json: report, isPretty: true))
    }
}

private struct VerificationReport: Encodable {
    struct Check: Encodable {
        let name: String
        let holds: Bool
        let violations: Int
        let examples: [String]
    }

    struct Trail: Encodable {
        let entries: Int
        let end: String
        /// Whether it continues the end that was given.
        let continuesSince: Bool?
    }

    let checks: [Check]
    let auditTrail: Trail
}
