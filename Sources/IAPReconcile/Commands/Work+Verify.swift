import Foundation
import NightlyRun
import Reconciliation
import Reporting

extension Work {
    /// Looks at what must always hold of the tables; what does not ends with the code of an internal error.
    func verify(asJSON: Bool) async throws -> ExitCode {
        var findings: [IntegrityFinding] = []
        let trail = try await IntegrityAudit(settings: configuration.settings).verify { finding in
            findings.append(finding)
            if !asJSON { StandardOutput.write(VerificationText.line(finding)) }
        }
        StandardOutput.write(
            asJSON
                ? try VerificationText.json(findings, trail) + "\n" : VerificationText.summary(findings, trail))
        return findings.allSatisfy(\.isFine) ? .done : .software
    }
}

/// What `verify` says.
enum VerificationText {
    static func line(_ finding: IntegrityFinding) -> String {
        guard !finding.isFine else { return "fine   \(finding.check.text)\n" }
        let more = finding.count > finding.examples.count ? ", …" : ""
        return "wrong  not so in \(finding.count): \(finding.check.text)\n"
            + "       \(Printable.line(finding.examples.joined(separator: ", ")))\(more)\n"
    }

    static func summary(_ findings: [IntegrityFinding], _ trail: AuditTrail) -> String {
        let wrong = findings.count { !$0.isFine }
        let end = trail.events == 0 ? "" : ", its end \(trail.end)"
        return "\n\(findings.count) checks, \(wrong) not fine; audit trail: \(trail.events) sealed events\(end)\n"
    }

    static func json(_ findings: [IntegrityFinding], _ trail: AuditTrail) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let report = VerificationReport(
            checks: findings.map {
                VerificationReport.Check(
                    name: $0.check.rawValue, holds: $0.isFine, violations: $0.count, examples: $0.examples)
            },
            auditTrail: VerificationReport.Trail(sealedEvents: trail.events, end: trail.end))
        return Printable.json(String(decoding: try encoder.encode(report), as: UTF8.self))
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
        let sealedEvents: Int
        let end: String

        enum CodingKeys: String, CodingKey {
            case sealedEvents = "sealed_events"
            case end
        }
    }

    let checks: [Check]
    let auditTrail: Trail

    enum CodingKeys: String, CodingKey {
        case checks
        case auditTrail = "audit_trail"
    }
}
