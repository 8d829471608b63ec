import AppStoreSimulator
import Foundation
import SimulatedWorld

/// `appstore-simulator world`
enum WorldCommand {
    static let help = """
        Usage: appstore-simulator world [options] ACTION
        Plays a world of customers, with the truth of every purchase. Wants the rights of the schema's owner. ACTION is
        one of

          --moment NIGHT         print the moment of a night's run, for serve's clock and the job's --now
          --play DAY             let the day before that night take place: uploads, orders and claims
          --play-to DAY          let all days up to that one take place, with no night in between
          --truth FILE           write there, as JSON, which orders are truly lost in the last night, or in --night NIGHT
          --observe NIGHT        keep what the job said in that night
          --redeliver NIGHT      let the apps' server take what that night asks it to deliver
          --sales NIGHT          write Apple's sales report of the last day of Pacific Time that is over by that night
                                 into the folder --sales-dir DIR, and print the file's name
          --apps SECRETS         print the apps' sections of the job's configuration; SECRETS is serve's --secrets-dir, in
                                 which serve's --key-out is server-api.p8; with --redelivering one app asks for redeliveries
          --sources CONNINFO     print its sections for what a company keeps in tables of its own
          --tally                judge all nights and print the table; ends with 1 when something should not be

        and --play, --play-to, --observe, --redeliver and --tally need

          --database CONNINFO    as libpq understands it

        The world:
        \(WorldOptions.help)

        """

    private static let mostFaults = 20

    static func run(_ arguments: [String]) async throws {
        let options = try Options(
            arguments,
            values: WorldOptions.names.union([
                "database", "moment", "play", "truth", "observe", "redeliver", "sales", "sales-dir", "apps", "sources",
                "play-to", "night",
            ]),
            switches: ["tally", "redelivering"])
        let settings = try WorldOptions.settings(options)
        if let night = try options.number("moment", in: 1...settings.nights) {
            return print(settings.moment(ofNight: night).formatted(.iso8601))
        }
        if let file = options.text("truth") {
            let truth = World(settings).truth(ofNight: try options.number("night", in: 1...settings.nights))
            return try Files.write(String(decoding: try truth.json(), as: UTF8.self) + "\n", to: file)
        }
        if let night = try options.number("sales", in: 1...settings.nights) {
            return try writeSales(beforeNight: night, settings, to: options.required("sales-dir"))
        }
        if let conninfo = options.text("sources") {
            return print(CompanyTables.configuration(conninfo: conninfo))
        }
        if let secrets = options.text("apps") {
            return printApps(settings, secrets: secrets, redelivers: options.has("redelivering"))
        }
        try await act(options, settings)
    }

    private static func printApps(_ settings: WorldSettings, secrets: String, redelivers: Bool) {
        for app in World.apps {
            print("\n[app \(app.bundleID)]\nshared_secret_file = \(secrets)/\(app.bundleID)")
            print(app.configuration(settings, keyFile: "\(secrets)/server-api.p8", redelivers: redelivers))
        }
    }

    private static func writeSales(beforeNight night: Int, _ settings: WorldSettings, to folder: String) throws {
        let world = World(settings)
        let report = world.salesReport(of: world.lastPacificDay(beforeNight: night))
        let path = "\(folder)/\(report.fileName).gz"
        try Files.write(try Gzip.compressed(Array(report.text.utf8)), to: path)
        print(path)
    }

    private static func act(_ options: Options, _ settings: WorldSettings) async throws {
        let play = try options.number("play", in: 1...settings.nights)
        let observe = try options.number("observe", in: 1...settings.nights)
        let redeliver = try options.number("redeliver", in: 1...settings.nights)
        let playTo = try options.number("play-to", in: 1...settings.nights)
        guard play != nil || playTo != nil || observe != nil || redeliver != nil || options.has("tally")
        else {
            throw UsageError("an action is needed")
        }
        let database = try options.required("database")
        let tally = try await WorldStage.open(World(settings), on: database) { stage in
            if let playTo { try await stage.play(to: playTo) }
            if let play { try await stage.play(day: play) }
            if let observe { try await stage.observe(night: observe) }
            if let redeliver { try await stage.redeliver(night: redeliver) }
            return options.has("tally") ? try await stage.tally() : nil
        }
        if let tally { show(tally) }
    }

    private static func show(_ tally: WorldTally) {
        for fault in tally.faults.prefix(mostFaults) { print(fault) }
        if tally.faults.count > mostFaults { print("and \(tally.faults.count - mostFaults) more") }
        print(TallyTable(tally))
        if !tally.isGood { exit(EXIT_FAILURE) }
    }
}
