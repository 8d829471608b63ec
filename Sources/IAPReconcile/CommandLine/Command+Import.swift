import Commands
import NightlyRun
import Reconciliation

extension Command {
    /// The options of `import`.
    static let importOptions = [
        LongOption(name: "format", takesValue: true), LongOption(name: "refused", takesValue: true),
        LongOption(name: "dry-run", takesValue: false),
    ]

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
}
