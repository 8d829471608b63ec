import Foundation
import SimulatedWorld

/// How the job is started for a night: its configuration, its command line and its environment.
struct Job: Sendable {
    var conninfo: String
    /// The part of the URL before `/production/verifyReceipt`.
    var store: String
    var reports: String
    var now = Theatre.now
    /// Whether the moment is given on the command line; otherwise the clocks give it.
    var isReplay = true
    /// Whether the apps' servers deliver what the night is sure of.
    var redelivers = false
    var command = ["run"]
    /// Additional keys, by section.
    var settings: [String: [String: String]]
    var environment: [String: String] = [:]
    /// Shell code around the program, which is `"$@"` there.
    var shell: String?

    /// The job that gets a signal so many microseconds after the n-th passage of a checkpoint, or of any.
    func signalled(
        at checkpoint: String, passage: Int, signal: Int32, microseconds: Int = 0
    ) -> Job {
        var job = self
        job.environment["IAP_CHECKPOINT"] = "\(checkpoint):\(passage):\(signal):\(microseconds)"
        return job
    }

    func with(_ section: String, _ values: [String: String]) -> Job {
        var job = self
        job.settings[section, default: [:]].merge(values) { _, new in new }
        return job
    }

    func arguments(configuration: String) -> [String] {
        let isRun = command.first == "run"
        return command + ["--config", configuration]
            + (isRun && isReplay ? ["--now", now.formatted(.iso8601), "--replay"] : [])
    }

    /// The text of its configuration file. The shared secrets and the key are files in that folder.
    func configuration(secrets folder: String, world: WorldSettings) -> String {
        var sections = settings
        sections["database", default: [:]]["conninfo"] = conninfo
        sections["apple", default: [:]].merge([
            "verify_receipt_production": "\(store)/production/verifyReceipt",
            "verify_receipt_sandbox": "\(store)/sandbox/verifyReceipt",
            "server_api_production": "\(store)/production", "server_api_sandbox": "\(store)/sandbox",
        ]) { own, _ in own }
        sections["report", default: [:]]["directory"] = reports
        let apps = World.apps.map { app in
            """
            [app \(app.bundleID)]
            shared_secret_file = \(folder)/\(app.bundleID)
            \(app.configuration(world, keyFile: Theatre.key(in: folder), redelivers: redelivers))

            """
        }
        return sections.sorted { $0.key < $1.key }
            .map { name, keys in
                "[\(name)]\n" + keys.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)\n" }.joined()
            }.joined() + apps.joined()
    }
}
