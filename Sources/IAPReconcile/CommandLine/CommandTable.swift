import Importing
import Reconciliation

/// Every command and option. The parser, `--help`, the man page's synopsis and the shells' completion follow it.
enum CommandTable {
    static let commands: [CommandForm] = [
        run, report, history, diff, check, resolve, adopt, take, note, verify, purge, erase, setup, migrate, importFile,
        notices, sales, statement, products, doctor, inspect, completion,
    ]

    /// The options of every command.
    static let everywhere: [OptionForm] = [
        OptionForm(
            "config", .file("FILE"), help: "the configuration (default \(Invocation.defaultConfiguration))"),
        OptionForm("log-format", .word("FORMAT", of: LogFormat.self), help: "text or json"),
        OptionForm("quiet", help: "only warnings and errors on standard error"),
        OptionForm("verbose", help: "everything, and the time that each stage took"),
        OptionForm(Self.help, help: "this text"),
        OptionForm("version", help: "the program's version"),
    ]

    /// The option that has a short form, `-h`.
    static let help = "help"

    /// All options by their names. Each takes a value in all commands, or in none.
    static let options: [OptionForm] = Dictionary(
        (everywhere + commands.flatMap(\.options)).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }
    ).values.sorted { $0.name < $1.name }

    private static let run = CommandForm(
        "run", help: "the nightly job: verify what waits in the inbox, report likely lost orders",
        options: [
            OptionForm("dry-run", help: "verify and report, write nothing to the database"),
            OptionForm("limit", .text("N"), help: "try N receipts, and those with the last one's payload"),
            OptionForm("report-dir", .folder("DIR"), help: "write the report below DIR"),
            OptionForm(
                "now", .text("TIMESTAMP"),
                help: "take this earlier moment for the present, such as 2026-11-21T03:00:00Z"),
            OptionForm("replay", help: "or any, in a database for replays"),
        ], understand: Command.run)

    private static let report = CommandForm(
        "report", help: "write the latest run's report again",
        options: [
            OptionForm("run", .text("N"), help: "if that is run N"),
            OptionForm("report-dir", .folder("DIR"), help: "below DIR"),
        ], understand: Command.report)

    private static let history = CommandForm(
        "history", help: "list the runs with what they found: open cases, new ones, closed ones, the money paid",
        options: [
            OptionForm("days", .text("N"), help: "of N days up to the latest run (default 30)"),
            OptionForm("json", help: "as JSON"),
        ], understand: Command.history)

    private static let diff = CommandForm(
        "diff", .text("RUN"), .text("RUN"),
        help: """
            say which cases a later run has opened, closed or judged otherwise than an earlier one,
            and why
            """,
        options: [OptionForm("json", help: "as JSON")], understand: Command.diff)

    private static let check = CommandForm(
        "check", .text("ID"),
        help: """
            say what is known of a transaction id, an invoice's order id (M…), an own order id
            or a user id, the verdict last
            """,
        options: [OptionForm("json", help: "as JSON")], understand: Command.check)

    static let whoDecides = OptionForm("by", .text("WHO"), help: "who decides", question: "who decides?")
    static let why = OptionForm("note", .text("TEXT"), help: "why", question: "why?")
    private static let app = OptionForm(
        "app", .text("BUNDLE"), help: "in this app, --environment production or sandbox, where several know ID")
    private static let environment = OptionForm(
        "environment", .word("NAME", of: EnvironmentName.self), help: "in this environment", place: .withAnother)

    private static let resolve = CommandForm(
        "resolve", .text("ID"), help: "end the case of transaction ID, or take that back",
        options: [
            OptionForm("delivered", help: "it was delivered by hand: --user USER, --order ORDER"),
            OptionForm("user", .text("USER"), help: "to this user", place: .withAnother),
            OptionForm("order", .text("ORDER"), help: "for this order", place: .withAnother),
            OptionForm("unknown-user", help: "although nobody has heard of USER"),
            OptionForm("deliver", help: "the app's server shall deliver it, without the customer"),
            OptionForm("dismissed", help: "nothing is owed after all"),
            OptionForm("refunded", help: "the money went back"),
            OptionForm("reopen", help: "an earlier resolve was wrong: it is owed again"),
            whoDecides, why, app, environment,
            OptionForm(
                "file", .file("FILE"),
                help: "or carry out all that a report's spreadsheet decides, .xlsx or .csv: --result FILE, --dry-run"),
            OptionForm(
                "result", .file("FILE"), help: "say in FILE what became of each line", place: .withAnother),
            OptionForm("dry-run", help: "do everything and roll it back", place: .withAnother),
        ], understand: Command.resolve)

    static let owner = OptionForm("user", .text("USER"), help: "whose it is", question: "whose is it?")

    private static let adopt = CommandForm(
        "adopt", .text("ID"),
        help: """
            take a purchase of which no receipt came into the ledger, by what Apple says of a
            transaction id or of an invoice's order id (M…)
            """,
        options: [
            owner, whoDecides, why, OptionForm("app", .text("BUNDLE"), help: "ask for this app alone"),
        ], understand: Command.adopt)

    private static let take = CommandForm(
        "take", .text("ID"), help: "say that you are on the case of transaction ID; after a day it is free again",
        options: [whoDecides, OptionForm("free", help: "nobody is on it any more"), app, environment],
        understand: Command.take)

    private static let note = CommandForm(
        "note", .text("ID"), help: "write a comment on transaction ID, which the report and check show",
        options: [whoDecides, why, app, environment], understand: Command.note)

    private static let verify = CommandForm(
        "verify", help: "look at what must always hold of the tables, the trail's chain included",
        options: [
            OptionForm("since", .text("END"), help: "and that the chain continues an end that was kept"),
            OptionForm("json", help: "as JSON"),
        ], understand: Command.verify)

    private static let purge = CommandForm(
        "purge", help: "take away what [retention] keeps no longer: payloads, devices, orders never paid",
        options: [OptionForm("dry-run", help: "only say how many")], understand: Command.purge)

    static let whoErases = OptionForm("by", .text("WHO"), help: "who erases", question: "who erases?")

    private static let erase = CommandForm(
        "erase", .text("USER"),
        help: "erase a person's data: amounts and Apple's ids stay; connects best as role iap_privacy",
        options: [
            whoErases,
            OptionForm("even-open", help: "although something is paid and not delivered"),
            OptionForm("dry-run", help: "do everything and roll it back"),
        ], understand: Command.erase)

    private static let setup = CommandForm(
        "setup",
        help: """
            make all that the job needs, step by step, each said before it is done: database, schema,
            roles, logins, configuration; what is there stays
            """,
        options: [
            OptionForm("database", .text("NAME"), help: "the database, or how its owner reaches it (a conninfo)"),
            OptionForm(
                "login", .word("HOW", of: LoginKind.self),
                help: "how the job logs in: by its system user (peer), or by passwords made here (password)"),
            OptionForm(
                "run-as", .text("USER"), help: "the system user of the job (default \(SetupOptions.defaultUser))"),
            OptionForm("app", .text("BUNDLE"), help: "an app, verified by what is given of the following"),
            OptionForm("secret-file", .file("FILE"), help: "its shared secret"),
            OptionForm(
                "key-file", .file("FILE"), help: "its key for the App Store Server API: --key-id ID, --issuer-id ID"),
            OptionForm("key-id", .text("ID"), help: "the key's id", place: .withAnother),
            OptionForm("issuer-id", .text("ID"), help: "the issuer's id", place: .withAnother),
            OptionForm(
                "from", .text("TIMESTAMP"),
                help: "from when on its server says what it delivers; what was bought before is let be"),
            OptionForm("enable-timer", help: "let systemd run the job each night"),
            OptionForm("yes", help: "ask nothing"),
            OptionForm("dry-run", help: "only say what would be done"),
        ], understand: Command.setup)

    private static let migrate = CommandForm(
        "migrate", help: "bring the database's schema up to date",
        options: [
            OptionForm("print", help: "show the SQL instead"),
            OptionForm("rehearsal", help: "make a database for replays of it, in which no customer's purchase belongs"),
        ], understand: Command.migrate)

    private static let refused = OptionForm(
        "refused", .file("FILE"), help: "write the lines that are not taken, with the reasons, as CSV")

    private static let importFile = CommandForm(
        "import", .word("KIND", of: ImportKind.self), .file("FILE"),
        help: """
            take over a company's own history: receipts, orders, delivered, entitlements or
            products, as CSV or JSON Lines; - is standard input; best as role iap_import
            """,
        options: [
            OptionForm(
                "format", .word("FORMAT", of: ImportFormat.self),
                help: "csv or jsonl, where neither the file's name nor its first byte tells"),
            refused,
            OptionForm("dry-run", help: "do everything and roll it back"),
        ], understand: Command.importFile)

    private static let notices = CommandForm(
        "notices", .file("FILE"), takesMore: true,
        help: """
            verify notifications of Apple's that an app's server kept, a signedPayload a line, and
            hand them to the next run; - is standard input
            """,
        understand: Command.notices)

    private static let sales = CommandForm(
        "sales", .file("FILE"), takesMore: true,
        help: """
            read Apple's daily sales reports (Summary Sales, TSV, gzipped or not), and compare what
            was sold with what the tables saw; - is standard input
            """,
        options: [refused], understand: Command.sales)

    private static let statement = CommandForm(
        "statement", .text("MONTH"),
        help: """
            print what was owed, came, was delivered, refunded and is owed in a month such as 2026-10,
            with what Apple sold beside it, and by which purchases they differ
            """,
        options: [
            OptionForm("app", .text("BUNDLE"), help: "of this app alone"),
            OptionForm("format", .word("FORMAT", of: StatementFormat.self), help: "csv, xlsx or json"),
            OptionForm("as-of", .text("DAY"), help: "through this day of the month, as it was known then"),
        ], understand: Command.statement)

    private static let products = CommandForm(
        "products", help: "print the rows that iap.products lacks a price for, to be filled in and imported",
        options: [
            OptionForm("suggest", help: "print what is to be filled in and imported", place: .besideTheCommand)
        ], understand: Command.products)

    private static let doctor = CommandForm(
        "doctor", help: "check configuration, database, grants, Apple and report directory",
        options: [
            OptionForm("tell", help: "send a test by mail and webhook as well"), OptionForm("json", help: "as JSON"),
        ], understand: Command.doctor)

    private static let inspect = CommandForm(
        "inspect", .file("FILE"), takesMore: true,
        help: """
            say what receipts, signed transactions or answers of verifyReceipt hold, and
            whether their signatures are Apple's; - is standard input; needs no configuration
            """,
        options: [
            OptionForm("trust-root", .file("FILE"), help: "trust the certificates of this file, PEM or DER, as well")
        ],
        understand: Command.inspect)

    private static let completion = CommandForm(
        "completion", .word("SHELL", of: Shell.self),
        help: "print what makes bash, zsh or fish complete commands and options; needs no configuration",
        understand: Command.completion)
}
