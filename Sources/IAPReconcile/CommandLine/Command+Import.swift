import Commands
import Reconciliation

extension Command {
    /// `import KIND FILE`.
    static func importFile(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        let kinds = ImportKind.allCases.map(\.rawValue)
        guard let name = operands.first else {
            throw UsageError("what to import is missing: \(kinds.joined(separator: ", "))")
        }
        guard let kind = ImportKind(rawValue: name) else {
            throw UsageError(
                "“\(name)” can't be imported, only \(kinds.joined(separator: ", "))"
                    + NearestName.suggestion(for: name, in: kinds))
        }
        guard operands.count > 1 else { throw UsageError("a file to import is missing; - is standard input") }
        guard operands.count == 2 else { throw UsageError("unexpected argument “\(operands[2])”") }
        let imported = ImportOptions(
            kind: kind, file: operands[1], format: try options.choice("format"), isDryRun: options.has("dry-run"))
        return .importFile(imported, refusedFile: try options.text("refused"))
    }

    static func sales(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard !operands.isEmpty else { throw UsageError("a sales report to read is missing; - is standard input") }
        return .sales(files: operands, refusedFile: try options.text("refused"))
    }

    static func notices(_ operands: [String], _: OptionValues) throws(UsageError) -> Command {
        guard !operands.isEmpty else { throw UsageError("a file of notifications is missing; - is standard input") }
        return .notices(files: operands)
    }

    static func products(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard options.has("suggest") else { throw UsageError("products needs --suggest") }
        return .suggestProducts
    }
}
