/// The commands that need no configuration.
extension Command {
    static func inspect(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard !operands.isEmpty else { throw UsageError("a file to inspect is missing; - is standard input") }
        return .inspect(files: operands, trustRoot: try options.text("trust-root"))
    }

    static func completion(_ operands: [String], _: OptionValues) throws(UsageError) -> Command {
        let shells = Shell.allCases.map(\.rawValue)
        guard let name = operands.first, operands.count == 1 else {
            throw UsageError("completion needs one shell: \(shells.joined(separator: ", "))")
        }
        guard let shell = Shell(rawValue: name) else {
            throw UsageError(
                "nothing is known of “\(name)”, only of \(shells.joined(separator: ", "))"
                    + NearestName.suggestion(for: name, in: shells))
        }
        return .completion(shell)
    }
}
