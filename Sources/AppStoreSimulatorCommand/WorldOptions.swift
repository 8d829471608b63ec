import Foundation
import SimulatedWorld

/// The options that say which world it is; `serve` and `world` must be given the same.
enum WorldOptions {
    static let names: Set<String> = ["seed", "customers", "days", "now", "nights", "since", "keys", "handed"]

    static let help = """
          --seed N               what makes receipts, faults and the world (default 1)
          --customers N          (default 3000)
          --days N               over which they buy, before the only night (default 14)
          --nights N             or N days, each of which a night ends
          --since NIGHT          of these nights the job is run from this one on (default 1)
          --now MOMENT           that of the last night, such as 2026-11-21T03:00:00Z (default: with --days the
                                 present, with --nights one that is always the same)
          --keys APPS            the apps, such as com.example.game,com.example.reader, that have a key for the App Store
                                 Server API, of whose purchases and refunds Apple then tells by itself (default: none)
          --handed yes           these apps have no key, and their servers hand on what Apple posts to them
        """

    static func seed(_ options: Options) throws(UsageError) -> UInt64 {
        try options.number("seed", in: 0...UInt64.max) ?? 1
    }

    static func settings(_ options: Options) throws -> WorldSettings {
        let seed = try seed(options)
        let customers = try options.number("customers", in: 0...1_000_000) ?? 3000
        let keys = Set((options.text("keys") ?? "").split(separator: ",").map(String.init))
        var settings: WorldSettings
        if let nights = try options.number("nights", in: 1...366) {
            guard options.text("days") == nil else { throw UsageError("--nights goes without --days") }
            settings = try WorldSettings(
                seed: seed, customers: customers, nights: nights, since: options.number("since", in: 1...nights) ?? 1,
                now: options.moment("now"), keys: keys)
        } else {
            guard options.text("since") == nil else { throw UsageError("--since goes with --nights") }
            settings = try WorldSettings(
                seed: seed, customers: customers, days: options.number("days", in: 1...366) ?? 14,
                now: options.moment("now") ?? Date(), keys: keys)
        }
        guard ["yes", "no", nil].contains(options.text("handed")) else { throw UsageError("--handed is yes or no") }
        settings.handsNoticesOn = options.text("handed") == "yes"
        return settings
    }
}
