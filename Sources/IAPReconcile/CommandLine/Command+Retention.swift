import Reconciliation

extension Command {
    static func purge(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        .purge(isDryRun: options.has("dry-run"))
    }

    static func erase(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard let userID = operands.first, operands.count == 1, !userID.isEmpty else {
            throw UsageError("erase needs one user id")
        }
        try OptionValues.checkLength(of: userID, as: "user", called: "the user id")
        let who = try options.needed(CommandTable.whoErases)
        return .erase(
            Erasure(
                userID: userID, by: who, isEvenOpen: options.has("even-open"), isDryRun: options.has("dry-run")))
    }
}
