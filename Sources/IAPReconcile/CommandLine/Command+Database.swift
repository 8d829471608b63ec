extension Command {
    static func migrate(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        if options.has("print"), options.has("rehearsal") {
            throw UsageError("--print and --rehearsal exclude each other")
        }
        return .migrate(isPrintOnly: options.has("print"), isRehearsal: options.has("rehearsal"))
    }

    static func verify(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        .verify(asJSON: options.has("json"), since: try options.text("since"))
    }

    static func doctor(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        .doctor(isNotifying: options.has("tell"), asJSON: options.has("json"))
    }
}
