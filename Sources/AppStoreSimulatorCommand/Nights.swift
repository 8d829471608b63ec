import AppStoreSimulator
import Foundation

/// `appstore-simulator nights`
enum Nights {
    static let help = """
        Usage: appstore-simulator nights --nights N [--seed N] [--customers N] ACTION
        Plays a world of customers night by night, with the truth of every purchase. Wants the rights of the schema's
        owner. ACTION is one of

          --moment NIGHT         print the moment of a night's run, for serve's clock and the job's --now
          --play DAY             let the day before that night take place: uploads, orders and claims
          --observe NIGHT        keep what the job said in that night
          --sales NIGHT          write Apple's sales report of the last day of Pacific Time that is over by that night
                                 into the folder --sales-dir DIR, and print the file's name
          --apps SECRETS         print the apps' sections of the job's configuration; SECRETS is serve's --secrets-dir
          --sources CONNINFO     print its sections for what a company keeps in tables of its own
          --tally                judge all nights and print the table; ends with 1 when something should not be

        and --play, --observe and --tally need

          --database CONNINFO    as libpq understands it

        The world:
        \(NightsOptions.help)

        """

    private static let mostFaults = 20

    static func run(_ arguments: [String]) async throws {
        let options = try Options(
            arguments,
            values: NightsOptions.names.union([
                "database", "moment", "play", "observe", "sales", "sales-dir", "apps", "sources",
            ]),
            switches: ["tally"])
        let settings = try NightsOptions.settings(options)
        if let night = try options.number("moment", in: 1...settings.nights) {
            return print(settings.moment(ofNight: night).formatted(.iso8601))
        }
        if let night = try options.number("sales", in: 1...settings.nights) {
            return try writeSales(beforeNight: night, settings, to: options.required("sales-dir"))
        }
        if let conninfo = options.text("sources") {
            return print(NightsOwnTables.configuration(conninfo: conninfo))
        }
        if let secrets = options.text("apps") { return printApps(settings, secrets: secrets) }
        try await act(options, settings)
    }

    private static func printApps(_ settings: NightsSettings, secrets: String) {
        for app in NightsWorld.apps {
            print("\n[app \(app.bundleID)]\nshared_secret_file = \(secrets)/\(app.bundleID)")
            print(app.configuration(settings))
        }
    }

    private static func writeSales(beforeNight night: Int, _ settings: NightsSettings, to folder: String) throws {
        let world = NightsWorld(settings)
        let report = world.salesReport(of: world.lastPacificDay(beforeNight: night))
        let path = "\(folder)/\(report.fileName).gz"
        try Files.write(try Gzip.compressed(Array(report.text.utf8)), to: path)
        print(path)
    }

    private static func act(_ options: Options, _ settings: NightsSettings) async throws {
        let play = try options.number("play", in: 1...settings.nights)
        let observe = try options.number("observe", in: 1...settings.nights)
        guard play != nil || observe != nil || options.has("tally") else { throw UsageError("an action is needed") }
        let database = try options.required("database")
        let tally = try await NightsStage.open(NightsWorld(settings), on: database) { stage in
            if let play { try await stage.play(day: play) }
            if let observe { try await stage.observe(night: observe) }
            return options.has("tally") ? try await stage.tally() : nil
        }
        if let tally { show(tally) }
    }

    private static func show(_ tally: NightsTally) {
        for fault in tally.faults.prefix(mostFaults) { print(fault) }
        if tally.faults.count > mostFaults { print("and \(tally.faults.count - mostFaults) more") }
        print(NightsTable(tally))
        if !tally.isGood { exit(EXIT_FAILURE) }
    }
}

/// The options that say which world of nights it is; `serve` and `nights` must be given the same.
enum NightsOptions {
    static let names: Set<String> = ["seed", "customers", "nights"]

    static let help = """
          --seed N               what makes receipts, faults and the world (default 1)
          --customers N          (default 3000)
          --nights N             how many nights it lasts
        """

    static func settings(_ options: Options) throws -> NightsSettings {
        guard let nights = try options.number("nights", in: 1...366) else { throw UsageError("--nights is needed") }
        return try NightsSettings(
            seed: WorldOptions.seed(options), customers: options.number("customers", in: 0...1_000_000) ?? 3000,
            nights: nights)
    }
}
