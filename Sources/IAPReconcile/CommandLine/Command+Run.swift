import Job
import NightlyRun

extension Command {
    static func run(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        let run = RunOptions(
            isDryRun: options.has("dry-run"), limit: try options.number("limit"), asOf: try asOf(options))
        return .run(run, reportDirectory: try options.text("report-dir"))
    }

    private static func asOf(_ options: OptionValues) throws(UsageError) -> AsOf {
        let moment = try options.moment("now")
        guard options.has("replay") else { return moment.map(AsOf.moment) ?? .clock }
        guard let moment else { throw UsageError("--replay needs --now, the moment that is replayed") }
        return .replay(moment)
    }

    static func report(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        .report(run: try options.number("run"), reportDirectory: try options.text("report-dir"))
    }
}
