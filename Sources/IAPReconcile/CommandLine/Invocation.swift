import Commands
import Foundation
import NightlyRun
import Reconciliation

/// A parsed command line.
struct Invocation: Sendable {
    static let defaultConfiguration = "/etc/iap-reconcile/iap-reconcile.conf"

    var command: Command
    var configuration: String
    var logFormat: LogFormat
    var verbosity: Verbosity
}

/// What the program should do.
enum Command: Sendable {
    case run(RunOptions, reportDirectory: String?)
    case report(run: Int64?, reportDirectory: String?)
    /// Makes all that the job needs, the configuration file that `--config` names included.
    case setup(SetupOptions)
    case migrate(isPrintOnly: Bool, isRehearsal: Bool)
    case importFile(ImportOptions, refusedFile: String?)
    /// `-` among the files is standard input.
    case sales(files: [String], refusedFile: String?)
    /// `-` among the files is standard input.
    case notices(files: [String])
    /// With a test message by mail and webhook, if it is notifying.
    case doctor(isNotifying: Bool, asJSON: Bool)
    case statement(StatementOptions)
    case suggestProducts
    case check(String, asJSON: Bool)
    case resolve(Resolution)
    case adopt(Adoption)
    case take(DeskSubject, by: String, isFreeing: Bool)
    case note(DeskSubject, text: String, by: String)
    case resolveFile(DecisionOptions)
    case history(days: Int, asJSON: Bool)
    /// The two runs are given by their numbers.
    case diff(from: Int64, to: Int64, asJSON: Bool)
    case verify(asJSON: Bool, since: String?)
    case purge(isDryRun: Bool)
    case erase(Erasure)
    /// Needs no configuration; `-` among the files is standard input.
    case inspect(files: [String], trustRoot: String?)
    /// Needs no configuration.
    case completion(Shell)
    /// For one command, or for all.
    case help(CommandForm?)
    case version

    /// Whether its output is its result; the result of a run is in the report's folder.
    var isResultPrinted: Bool {
        switch self {
        case .run, .report: false
        default: true
        }
    }
}

/// The format of log lines.
enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// How much is written to standard error.
enum Verbosity: Sendable {
    /// Warnings and errors, and no progress.
    case quiet
    case normal
    /// Everything, and the time that each stage took.
    case verbose
}

extension Invocation {
    /// Parses the arguments after the program's name.
    init(arguments: [String]) throws(UsageError) {
        let parsed = try LongOptions.parse(arguments, knowing: CommandTable.options)
        let options = OptionValues(parsed.options)
        command = try Self.command(parsed, options)
        configuration = parsed.options["config"] ?? Self.defaultConfiguration
        logFormat = try options.choice("log-format") ?? .text
        verbosity = try Self.verbosity(options)
    }

    private static func verbosity(_ options: OptionValues) throws(UsageError) -> Verbosity {
        switch (options.has("quiet"), options.has("verbose")) {
        case (true, true): throw UsageError("--quiet and --verbose exclude each other")
        case (true, false): .quiet
        case (false, true): .verbose
        case (false, false): .normal
        }
    }

    private static func command(
        _ parsed: ParsedArguments, _ options: OptionValues
    ) throws(UsageError) -> Command {
        let named = CommandTable.commands.first { $0.name == parsed.operands.first }
        if options.has(CommandTable.help) { return .help(named) }
        if options.has("version") { return .version }
        guard let name = parsed.operands.first else { throw UsageError("a command is missing") }
        guard let form = named else {
            let names = CommandTable.commands.map(\.name)
            throw UsageError("unknown command “\(name)”\(NearestName.suggestion(for: name, in: names))")
        }
        let operands = Array(parsed.operands.dropFirst())
        if let unexpected = operands.first, form.operands.isEmpty {
            throw UsageError("unexpected argument “\(unexpected)”")
        }
        let allowed = Set((CommandTable.everywhere + form.options).map(\.name))
        if let stray = parsed.options.keys.sorted().first(where: { !allowed.contains($0) }) {
            throw UsageError("--\(stray) is no option of “\(name)”")
        }
        return try form.understand(operands, options)
    }
}
