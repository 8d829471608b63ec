import AppStoreSimulator

/// The options that say which world it is; `serve` and `populate` must be given the same.
enum WorldOptions {
    static let names: Set<String> = ["seed", "customers", "days", "now"]

    static func seed(_ options: Options) throws(UsageError) -> UInt64 {
        try options.number("seed", in: 0...UInt64.max) ?? 1
    }
}
