import Foundation
import NightlyRun
import Reporting

/// The program `iap-reconcile`: understands the command line, and turns what is thrown into text and exit code.
@main
enum IAPReconcile {
    static func main() async {
        Standard.makeSureOfAll()
        Memory.keepToOneHeap()
        Memory.keepOffDisks()
        exit(await code(of: Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    private static func code(of arguments: [String]) async -> ExitCode {
        do {
            return try await perform(Invocation(arguments: arguments))
        } catch {
            let failure = Failure(error)
            StandardError.write("iap-reconcile: \(Printable.lines(failure.message))\n")
            return failure.code
        }
    }

    private static func perform(_ invocation: Invocation) async throws -> ExitCode {
        switch invocation.command {
        case .help: StandardOutput.write(Help.text)
        case .version: StandardOutput.write("iap-reconcile \(Help.version)\n")
        case .inspect(let files, let trustRoot): return try Inspecting(files: files, trustRoot: trustRoot).perform()
        default: return try await Work(invocation).perform()
        }
        return .done
    }
}
