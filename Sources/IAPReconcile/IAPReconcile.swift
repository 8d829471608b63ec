import Foundation
import Job
import Reconciliation
import Reporting

/// The program `iap-reconcile`: reads the command line, and turns errors into text and exit code.
@main
enum IAPReconcile {
    static func main() async {
        StandardStreams.openMissing()
        StandardStreams.failByError()
        Memory.keepToOneHeap()
        Memory.keepOffDisks()
        OpenFiles.takeAllowed()
        exit(await code(of: Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    private static func code(of arguments: [String]) async -> ExitCode {
        do {
            try checkEncoding()
            let invocation = try Invocation(arguments: arguments)
            let code = try await perform(invocation)
            guard let unwritten = StandardOutput.failure else { return code }
            let ending = code == .done && invocation.command.isResultPrinted ? unwritten.exitCode : code
            return tell(Failure(unwritten), of: arguments, endingWith: ending)
        } catch {
            let failure = Failure(error)
            return tell(failure, of: arguments, endingWith: failure.code)
        }
    }

    /// Refuses bytes that are not UTF-8: `CommandLine` would give them as other characters, which nobody wrote.
    private static func checkEncoding() throws(UsageError) {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index], String(validatingCString: argument) == nil else {
                continue
            }
            throw UsageError("argument \(index) is not UTF-8")
        }
    }

    private static func tell(_ failure: Failure, of arguments: [String], endingWith code: ExitCode) -> ExitCode {
        StandardError.write(line(failure, of: arguments, endingWith: code))
        return code
    }

    /// The failure in the format of the log, which even an invalid command line may name.
    private static func line(_ failure: Failure, of arguments: [String], endingWith code: ExitCode) -> String {
        let format = zip(arguments, arguments.dropFirst() + [""]).contains {
            $0.0 == "--log-format=json" || ($0.0 == "--log-format" && $0.1 == "json")
        }
        guard format else { return "iap-reconcile: \(Printable.lines(failure.message))\n" }
        let entry = LogEntry(.error, failure.message, fields: ["exit_code": "\(code.rawValue)"])
        return LogLine(entry, at: Date()).text(as: .json, isColoured: false) + "\n"
    }

    private static func perform(_ invocation: Invocation) async throws -> ExitCode {
        switch invocation.command {
        case .help(let command): StandardOutput.write(command.map(Help.text(of:)) ?? Help.text)
        case .version: StandardOutput.write("iap-reconcile \(Help.version)\n")
        case .completion(let shell): StandardOutput.write(shell.completion)
        case .setup(let options):
            return try await SettingUp(options, configuration: invocation.configuration).perform()
        case .inspect(let files, let trustRoot): return try Inspecting(files: files, trustRoot: trustRoot).perform()
        default: return try await CommandRunner.perform(invocation)
        }
        return .done
    }
}
