import Commands
import Foundation
import Reconciliation

extension Command {
    static func check(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard operands.count == 1, let id = operands.first, !pasted(id).isEmpty else {
            throw UsageError("check needs one id: of a transaction, an invoice, an order or a user")
        }
        return .check(id, asJSON: options.has("json"))
    }

    /// An id of Apple's, without what a cell of a spreadsheet had around it.
    private static func pasted(_ id: String) -> String { PastedID.bare(id) ?? id }

    static func resolve(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        if let file = try options.text("file") { return try resolveFile(file, operands, options) }
        for name in ["result", "dry-run"] where options.has(name) { throw UsageError("--\(name) goes with --file") }
        let subject = try subject("resolve", operands, options)
        let who = try options.needed(CommandTable.whoDecides)
        let note = try options.needed(CommandTable.why)
        var resolution = Resolution(
            transactionID: subject.transactionID, decision: try decision(options), by: who, note: note)
        resolution.bundleID = subject.bundleID
        resolution.environment = subject.environment
        return .resolve(resolution)
    }

    static func adopt(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard let id = operands.first.map(pasted), operands.count == 1, !id.isEmpty else {
            throw UsageError("adopt needs one id: of a transaction, or of an invoice of Apple's (M…)")
        }
        let user = try options.needed(CommandTable.owner)
        return .adopt(
            Adoption(
                id: id, userID: user, by: try options.needed(CommandTable.whoDecides),
                note: try options.needed(CommandTable.why), bundleID: try options.bundleID("app")))
    }

    static func take(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        .take(
            try subject("take", operands, options), by: try options.needed(CommandTable.whoDecides),
            isFreeing: options.has("free"))
    }

    static func note(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        .note(
            try subject("note", operands, options), text: try options.needed(CommandTable.why),
            by: try options.needed(CommandTable.whoDecides))
    }

    private static func subject(
        _ command: String, _ operands: [String], _ options: OptionValues
    ) throws(UsageError) -> DeskSubject {
        guard let text = operands.first.map(pasted), operands.count == 1 else {
            throw UsageError("\(command) needs one transaction id")
        }
        guard let id = TransactionID(text) else { throw UsageError("“\(text)” can't be a transaction id") }
        let environment: EnvironmentName? = try options.choice("environment")
        return DeskSubject(
            transactionID: id, bundleID: try options.bundleID("app"), environment: environment?.environment)
    }

    private static func resolveFile(
        _ file: String, _ operands: [String], _ options: OptionValues
    ) throws(UsageError) -> Command {
        if let id = operands.first { throw UsageError("resolve takes “\(id)” or --file, and not both") }
        let ofOneCase = [
            "delivered", "user", "order", "unknown-user", "deliver", "dismissed", "refunded", "reopen", "note", "app",
            "environment",
        ]
        if let stray = ofOneCase.first(where: { options.has($0) }) {
            throw UsageError("--\(stray) goes with one id: with --file, each line of the file says it")
        }
        return .resolveFile(
            DecisionOptions(
                file: file, by: try options.needed(CommandTable.whoDecides),
                resultFile: try options.text("result") ?? file + ".result.csv", isDryRun: options.has("dry-run")))
    }

    private static func decision(_ options: OptionValues) throws(UsageError) -> Resolution.Decision {
        let decisions: [(String, Resolution.Decision)] = [
            ("delivered", .delivered()), ("dismissed", .dismissed), ("refunded", .refunded), ("reopen", .reopened),
            ("deliver", .redelivery),
        ]
        let meant = decisions.filter { options.has($0.0) }
        guard meant.count == 1 else {
            throw UsageError("resolve needs one of --delivered, --deliver, --dismissed, --refunded and --reopen")
        }
        return try completed(meant[0].1, options)
    }

    /// The decision with what the options say of whom it was delivered to.
    private static func completed(
        _ decision: Resolution.Decision, _ options: OptionValues
    ) throws(UsageError) -> Resolution.Decision {
        let (userID, orderID) = (try options.text("user"), try options.text("order"))
        let isDelivered = decision == .delivered()
        guard isDelivered || (userID == nil && orderID == nil) else {
            throw UsageError("--user and --order say to whom it was delivered; they go with --delivered")
        }
        let isUnknown = options.has("unknown-user")
        guard !isUnknown || userID != nil else { throw UsageError("--unknown-user goes with --user") }
        guard isDelivered else { return decision }
        return .delivered(
            to: userID.map { Resolution.Recipient(userID: $0, isUnknown: isUnknown) }, orderID: orderID)
    }
}

/// An environment as a person writes it.
enum EnvironmentName: String, CaseIterable {
    case production, sandbox

    var environment: Environment { self == .production ? .production : .sandbox }
}
