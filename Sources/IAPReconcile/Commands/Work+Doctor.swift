import Foundation
import NightlyRun
import Reconciliation

extension Work {
    /// Examines what a run relies on; what is wrong ends with the code for a configuration that must be mended.
    func doctor() async -> ExitCode {
        let doctor = Doctor(settings: configuration.settings, supportDatabase: configuration.supportDatabase)
        let findings =
            configurationFindings + (await doctor.examine())
            + [ReportDirectory.examine(configuration.reportDirectory)]
            + TellingExamination(settings: configuration.telling).findings
        StandardOutput.write(findings.map(Self.text).joined())
        return findings.contains { $0.verdict == .wrong } ? .configuration : .done
    }

    private var configurationFindings: [Doctor.Finding] {
        let apps = configuration.settings.apps.map { "\($0.app.bundleID)" }
        if apps.isEmpty {
            return [
                Doctor.Finding(
                    "configuration", .wrong, "\(invocation.configuration) names no app",
                    remedy: "Add a section [app BUNDLE] for each app.")
            ]
        }
        return [
            Doctor.Finding(
                "configuration", .fine,
                "\(invocation.configuration) is understood; apps: \(apps.joined(separator: ", "))")
        ]
    }

    private static func text(_ finding: Doctor.Finding) -> String {
        let mark =
            switch finding.verdict {
            case .fine: "fine   "
            case .warning: "warning"
            case .wrong: "wrong  "
            }
        let remedy = finding.remedy.map { "         → \($0)\n" } ?? ""
        return "\(mark)  \(finding.name): \(finding.text)\n\(remedy)"
    }
}
