import Reconciliation

extension Command {
    /// The options of `erase`.
    static let eraseOptions = [
        LongOption(name: "by", takesValue: true), LongOption(name: "even-open", takesValue: false),
        LongOption(name: "dry-run", takesValue: false),
    ]

    static func erase(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard let userID = operands.first, operands.count == 1, !userID.isEmpty else {
            throw UsageError("erase needs one user id")
        }
        guard let who = try options.text("by") else { throw UsageError("--by WHO is missing: who erases?") }
        return .erase(
            Erasure(
                userID: userID, by: who, isEvenOpen: options.has("even-open"), isDryRun: options.has("dry-run")))
    }
}
