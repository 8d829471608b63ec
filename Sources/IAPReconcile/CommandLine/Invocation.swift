import Commands
import Foundation
import NightlyRun
import Reconciliation

/// A command line, understood.
struct Invocation: Sendable {
    static let defaultConfiguration = "/etc/iap-reconcile/iap-reconcile.conf"

    var command: Command
    var configuration: String
    var logFormat: LogFormat
    var verbosity: Verbosity
}

/// What is to be done.
enum Command: Sendable {
    case run(RunOptions, reportDirectory: String?)
    case report(run: Int64?, reportDirectory: String?)
    case migrate(isPrintOnly: Bool, isRehearsal: Bool)
    case importFile(ImportOptions, refusedFile: String?)
    /// `-` among the files is standard input.
    case sales(files: [String], refusedFile: String?)
    /// With a test message by mail and webhook, where it is telling.
    case doctor(isTelling: Bool, asJSON: Bool)
    case suggestProducts
    case check(String, asJSON: Bool)
    case resolve(Resolution)
    case verify(asJSON: Bool, since: String?)
    case purge(isDryRun: Bool)
    case erase(Erasure)
    /// Needs no configuration; `-` among the files is standard input.
    case inspect(files: [String], trustRoot: String?)
    case help
    case version
}

/// How log lines are written.
enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// How much is said on standard error.
enum Verbosity: Sendable {
    /// Warnings and errors, and no progress.
    case quiet
    case normal
    /// Everything, and the time that each stage took.
    case verbose
}

extension Invocation {
    private static let everywhere = [
        LongOption(name: "config", takesValue: true), LongOption(name: "help", takesValue: false),
        LongOption(name: "version", takesValue: false), LongOption(name: "log-format", takesValue: true),
        LongOption(name: "quiet", takesValue: false), LongOption(name: "verbose", takesValue: false),
    ]

    private static let ofCommand: [String: [LongOption]] = [
        "run": [
            LongOption(name: "dry-run", takesValue: false), LongOption(name: "limit", takesValue: true),
            LongOption(name: "report-dir", takesValue: true), LongOption(name: "now", takesValue: true),
            LongOption(name: "replay", takesValue: false),
        ],
        "report": [LongOption(name: "run", takesValue: true), LongOption(name: "report-dir", takesValue: true)],
        "migrate": [
            LongOption(name: "print", takesValue: false), LongOption(name: "rehearsal", takesValue: false),
        ],
        "import": Command.importOptions,
        "sales": [LongOption(name: "refused", takesValue: true)],
        "doctor": [
            LongOption(name: "tell", takesValue: false), LongOption(name: "json", takesValue: false),
        ],
        "products": [LongOption(name: "suggest", takesValue: false)],
        "check": [LongOption(name: "json", takesValue: false)],
        "resolve": Command.resolveOptions,
        "verify": [LongOption(name: "json", takesValue: false), LongOption(name: "since", takesValue: true)],
        "purge": [LongOption(name: "dry-run", takesValue: false)],
        "erase": Command.eraseOptions,
        "inspect": [LongOption(name: "trust-root", takesValue: true)],
    ]

    private static let takingOperands: Set<String> = ["import", "sales", "inspect", "check", "resolve", "erase"]

    /// Understands the arguments behind the program's name.
    init(arguments: [String]) throws(UsageError) {
        let known = Set(Self.everywhere + Self.ofCommand.values.joined()).sorted { $0.name < $1.name }
        let parsed = try LongOptions.parse(arguments, knowing: known)
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
        if options.has("help") { return .help }
        if options.has("version") { return .version }
        guard let name = parsed.operands.first else { throw UsageError("a command is missing") }
        guard let own = ofCommand[name] else {
            throw UsageError(
                "unknown command “\(name)”\(NearestName.suggestion(for: name, in: ofCommand.keys))")
        }
        let operands = Array(parsed.operands.dropFirst())
        if let unexpected = operands.first, !takingOperands.contains(name) {
            throw UsageError("unexpected argument “\(unexpected)”")
        }
        let allowed = Set((everywhere + own).map(\.name))
        if let stray = parsed.options.keys.sorted().first(where: { !allowed.contains($0) }) {
            throw UsageError("--\(stray) is no option of “\(name)”")
        }
        return try command(name, operands, options)
    }

    private static func asOf(_ options: OptionValues) throws(UsageError) -> AsOf {
        let moment = try options.moment("now")
        guard options.has("replay") else { return moment.map(AsOf.moment) ?? .clock }
        guard let moment else { throw UsageError("--replay needs --now, the moment that is replayed") }
        return .replay(moment)
    }

    private static func command(
        _ name: String, _ operands: [String], _ options: OptionValues
    ) throws(UsageError) -> Command {
        let directory = try options.text("report-dir")
        switch name {
        case "run":
            let run = RunOptions(
                isDryRun: options.has("dry-run"), limit: try options.number("limit"),
                asOf: try asOf(options))
            return .run(run, reportDirectory: directory)
        case "report":
            return .report(run: try options.number("run"), reportDirectory: directory)
        case "migrate":
            if options.has("print"), options.has("rehearsal") {
                throw UsageError("--print and --rehearsal exclude each other")
            }
            return .migrate(isPrintOnly: options.has("print"), isRehearsal: options.has("rehearsal"))
        case "products":
            guard options.has("suggest") else { throw UsageError("products needs --suggest") }
            return .suggestProducts
        case "check":
            return try .check(operands, options)
        case "resolve":
            return try .resolve(operands, options)
        case "verify":
            return .verify(asJSON: options.has("json"), since: try options.text("since"))
        case "purge":
            return .purge(isDryRun: options.has("dry-run"))
        case "erase":
            return try .erase(operands, options)
        case "import":
            return try .importFile(operands, options)
        case "sales":
            guard !operands.isEmpty else { throw UsageError("a sales report to read is missing; - is standard input") }
            return .sales(files: operands, refusedFile: try options.text("refused"))
        case "inspect":
            guard !operands.isEmpty else { throw UsageError("a file to inspect is missing; - is standard input") }
            return .inspect(files: operands, trustRoot: try options.text("trust-root"))
        default:
            return .doctor(isTelling: options.has("tell"), asJSON: options.has("json"))
        }
    }
}
