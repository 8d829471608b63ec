import Commands
import Foundation
import Job
import Notifications
import Reconciliation
import Reporting
import Verification

extension CommandRunner {
    /// Examines what a run relies on. If something is wrong, ends with the code for a configuration to be corrected.
    func doctor(isNotifying: Bool, asJSON: Bool) async -> ExitCode {
        let doctor = Doctor(
            settings: configuration.settings, supportDatabase: configuration.supportDatabase,
            privacyDatabase: configuration.privacyDatabase, decisionsDirectory: configuration.decisionsDirectory)
        var findings =
            configurationFindings + openFilesFindings + (await doctor.examine())
            + [ReportDirectory.examine(configuration.reportDirectory)]
            + NotificationExamination(settings: configuration.telling).findings
        if isNotifying { findings += await testFindings }
        StandardOutput.write(
            asJSON ? Printable.json(Self.json(findings)) + "\n" : Printable.lines(findings.map(Self.text).joined()))
        return findings.contains { $0.verdict == .wrong } ? .configuration : .done
    }

    private var testFindings: [Doctor.Finding] {
        get async {
            let told = await Notifier(configuration.telling, programVersion: Help.version)
                .test(.test(of: Help.version, on: ProcessInfo.processInfo.hostName, at: Date()))
            if told.isEmpty {
                return [Doctor.Finding("test", .warning, "went nowhere: there is neither [mail] nor [webhook]")]
            }
            return told.map { told in
                Doctor.Finding(
                    "test by \(told.way.rawValue)", told.failure == nil ? .fine : .wrong,
                    told.failure ?? "was taken; see whether it arrives",
                    remedy: told.failure.map { _ in "Mend the section [\(told.way.rawValue)], or what it names." })
            }
        }
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

    private var openFilesFindings: [Doctor.Finding] {
        OpenFiles.shortage(for: configuration.settings).map {
            [Doctor.Finding("open files", .wrong, $0, remedy: "Allow more (ulimit -n), or lower them.")]
        } ?? []
    }

    private static func json(_ findings: [Doctor.Finding]) -> String {
        struct Line: Encodable {
            let name, verdict, text: String
            let remedy: String?
            let details: [String]
        }
        let lines = findings.map {
            Line(name: $0.name, verdict: $0.verdict.rawValue, text: $0.text, remedy: $0.remedy, details: $0.details)
        }
        return (try? String(json: lines)) ?? "[]"
    }

    private static func text(_ finding: Doctor.Finding) -> String {
        let mark =
            switch finding.verdict {
            case .fine: "fine   "
            case .warning: "warning"
            case .wrong: "wrong  "
            }
        let remedy = finding.remedy.map { "         → \($0)\n" } ?? ""
        let details = finding.details.map { "           \($0)\n" }.joined()
        return "\(mark)  \(finding.name): \(finding.text)\n\(details)\(remedy)"
    }
}
