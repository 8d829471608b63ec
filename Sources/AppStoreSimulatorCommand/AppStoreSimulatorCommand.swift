import AppStoreSimulator
import Foundation

/// The program `appstore-simulator`: chooses the command and turns what it throws into text and exit code.
@main
enum AppStoreSimulatorCommand {
    static let help = """
        Usage: appstore-simulator COMMAND [options]
        Plays Apple's side and a world of customers for iap-reconcile.

          serve       answer as verifyReceipt and the App Store Server API do, over HTTP and HTTPS on 127.0.0.1
          world       play a world of customers on a database, and judge what the job said of it night by night
          compare     compare one night's report of iap-reconcile with the truth
          fill        fill the inbox with many receipts, for tests of speed

        `appstore-simulator COMMAND --help` tells a command's options.

        """

    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first else { return end(EX_USAGE, help) }
        guard name != "--help" else { return end(EXIT_SUCCESS, help) }
        guard let commandHelp = help(of: name) else {
            return end(EX_USAGE, "appstore-simulator: unknown command \(name)\n" + help)
        }
        guard !arguments.contains("--help") else { return end(EXIT_SUCCESS, commandHelp) }
        do {
            try await run(name, Array(arguments.dropFirst()))
        } catch let error as UsageError {
            end(EX_USAGE, "appstore-simulator: \(error.text)\nTry `appstore-simulator \(name) --help`.\n")
        } catch SimulatorError.invalidOption(let text) {
            end(EX_USAGE, "appstore-simulator: \(text)\nTry `appstore-simulator \(name) --help`.\n")
        } catch {
            end(EX_UNAVAILABLE, "appstore-simulator: \(error)\n")
        }
    }

    private static func help(of command: String) -> String? {
        switch command {
        case "serve": Serve.help
        case "compare": Compare.help
        case "world": WorldCommand.help
        case "fill": Fill.help
        default: nil
        }
    }

    private static func run(_ command: String, _ arguments: [String]) async throws {
        switch command {
        case "serve": try Serve.run(arguments)
        case "compare": try Compare.run(arguments)
        case "world": try await WorldCommand.run(arguments)
        default: try await Fill.run(arguments)
        }
    }

    /// Ends the program: with help on standard output, or a complaint on standard error.
    private static func end(_ code: Int32, _ text: String) {
        (code == EXIT_SUCCESS ? FileHandle.standardOutput : .standardError).write(Data(text.utf8))
        exit(code)
    }
}
