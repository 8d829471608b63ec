import AppStoreSimulator
import Foundation

let help = """
    Usage: appstore-simulator COMMAND [options]
    Plays Apple's side and a world of customers for iap-reconcile.

      serve       answer as verifyReceipt does, over HTTP and HTTPS on 127.0.0.1

    `appstore-simulator COMMAND --help` tells a command's options.

    """

let commands: [String: (help: String, run: ([String]) throws -> Void)] = [
    "serve": (Serve.help, Serve.run)
]

func complain(_ text: String) {
    FileHandle.standardError.write(Data("appstore-simulator: \(text)\n".utf8))
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard let name = arguments.first, let command = commands[name] else {
    let isHelp = arguments.first == "--help"
    (isHelp ? FileHandle.standardOutput : .standardError).write(Data(help.utf8))
    exit(isHelp ? 0 : EX_USAGE)
}
if arguments.contains("--help") {
    print(command.help, terminator: "")
    exit(0)
}
do {
    try command.run(Array(arguments.dropFirst()))
} catch let error as UsageError {
    complain("\(error.text)\nTry `appstore-simulator \(name) --help`.")
    exit(EX_USAGE)
} catch {
    complain("\(error)")
    exit(EX_UNAVAILABLE)
}
