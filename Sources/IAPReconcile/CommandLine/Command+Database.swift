extension Command {
    static func migrate(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        if options.has("print"), options.has("rehearsal") {
            throw UsageError("--print and --rehearsal exclude each other")
        }
        return .migrate(isPrintOnly: options.has("print"), isRehearsal: options.has("rehearsal"))
    }

    static func verify(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        .verify(asJSON: options.has("json"), since: try end(options))
    }

    /// Reads a trail end. One that was cut off, as a document may show it, is no sign that somebody changed the trail.
    private static func end(_ options: OptionValues) throws(UsageError) -> String? {
        guard let text = try options.text("since") else { return nil }
        guard text.wholeMatch(of: /[0-9A-Fa-f]{64}/) != nil else {
            throw UsageError("--since is an end of the trail as a summary names it, of 64 hex digits, not “\(text)”")
        }
        return text.lowercased()
    }

    static func doctor(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        .doctor(isNotifying: options.has("tell"), asJSON: options.has("json"))
    }
}
