import Commands
import Foundation
import Reconciliation
import Reporting

/// The command `setup`: from an empty PostgreSQL to a job that runs. Each step is announced before it is done, and what
/// is there already stays.
struct SettingUp {
    private let options: SetupOptions
    private let configuration: String
    private let dialog: SetupDialog

    init(_ options: SetupOptions, configuration: String) {
        self.options = options
        self.configuration = URL(filePath: configuration).path(percentEncoded: false)
        dialog = SetupDialog(isAgreed: options.isAgreed)
    }

    /// Ends with 0 if the job can run, or with the code for a configuration to be corrected if the doctor finds
    /// something wrong.
    func perform() async throws -> ExitCode {
        let options = try dialog.completed(options) { try ConfigurationStep.namesApp(configuration) }
        let owner = try OwnerAccess(options.database ?? "")
        let login = try login(owner, options)
        let written = ConfigurationStep(path: configuration, login: login, app: options.app)
        for secret in written.secrets { try secret.check() }
        let first: [any SetupStep] = [
            AccountStep(options.user), DatabaseStep(owner), SchemaStep(owner), RolesStep(owner),
        ]
        let folders = FoldersStep(
            "output folders", [try written.reportDirectory] + (isDefault ? ["/var/log/iap-reconcile"] : []),
            of: options.user)
        // The login's passwords are in the configuration's folder.
        let folder = FoldersStep(
            "config folder", [(configuration as NSString).deletingLastPathComponent], of: "root",
            group: options.user)
        for step in first + [folder, login] + written.secrets + [written, folders] {
            guard try await take(step) else { return .tryLater }
        }
        if options.isDryRun {
            StandardOutput.write("\nNothing of this was done.\n")
            return .done
        }
        guard try examine() else {
            StandardOutput.write("\nMend what is wrong, and run setup again: it does nothing twice.\n")
            return .configuration
        }
        try await schedule(options)
        return .done
    }

    private var isDefault: Bool { configuration == Invocation.defaultConfiguration }

    private func login(_ owner: OwnerAccess, _ options: SetupOptions) throws -> any LoginStep {
        switch options.login ?? (owner.isSocket ? .peer : .password) {
        case .peer:
            guard owner.isSocket else {
                throw UsageError("--login peer needs a database that is reached by a socket on this machine")
            }
            return PeerLoginStep(owner, user: options.user)
        case .password:
            let folder = (configuration as NSString).deletingLastPathComponent
            return PasswordLoginStep(owner, user: options.user, file: "\(folder)/pg_service.conf")
        }
    }

    /// Says what a step would do, asks, and does it; returns false if the answer is no.
    private func take(_ step: any SetupStep) async throws -> Bool {
        let lines = try await step.missing()
        guard !lines.isEmpty else {
            say("is there", of: step.name)
            return true
        }
        for (index, line) in lines.enumerated() { say(line, of: index == 0 ? step.name : "") }
        if options.isDryRun { return true }
        guard try dialog.agrees(to: "Do it?") else {
            say("\nStopped before “\(step.name)”. Run setup again to go on from here.")
            return false
        }
        try await step.perform()
        say("done", of: "")
        return true
    }

    /// Runs `doctor` as the job's user.
    private func examine() throws -> Bool {
        say("\niap-reconcile doctor, as \(options.user):")
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let doctor = [program ?? CommandLine.arguments[0], "doctor", "--config", configuration]
        let isOther = SystemUser.isRoot && options.user != "root"
        return try Program.status(of: isOther ? ["runuser", "-u", options.user, "--"] + doctor : doctor) == 0
    }

    private func schedule(_ options: SetupOptions) async throws {
        say("")
        guard isDefault, TimerStep.canBeEnabled else {
            return say("The job can run. Schedule it each night: cron/iap-reconcile.cron shows how.")
        }
        let timer = TimerStep()
        let lines = try timer.missing()
        guard !lines.isEmpty else { return say("systemd runs the job each night.") }
        for line in lines { say(line, of: "timer") }
        // Agreeing to the steps beforehand is not enough for a timer: it goes on by itself.
        var isWanted = options.isEnablingTimer
        if !isWanted, !options.isAgreed { isWanted = try dialog.agrees(to: "Do it?") }
        guard isWanted else { return say("The job can run; the timer is off.") }
        try timer.perform()
        say("done", of: "")
    }

    /// Says something of a step, whose name stands in a column of its own.
    private func say(_ text: String, of step: String) {
        say(step.padding(toLength: 15, withPad: " ", startingAt: 0) + text)
    }

    private func say(_ line: String) { StandardOutput.write(Printable.lines(line) + "\n") }
}
