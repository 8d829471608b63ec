import Foundation
import Reconciliation
import TestSupport
import Testing

/// Where the schema of `report.json` lists the words that a field takes, it lists all of them.
@Suite struct ReportSchemaTests {
    private static let fields: [String: Set<String>] = [
        "environment": words(of: Environment.self),
        "case/product_type": words(of: ProductType.self),
        "case/likelihood": words(of: Likelihood.self),
        "case/source": words(of: Source.self),
        "case/claims/outcome": words(of: ClaimOutcome.self),
        "run/not_judged/product_type": words(of: ProductType.self),
        "run/not_judged/cause": words(of: Unjudged.Cause.self),
        "run/patterns/trait": words(of: DeviceTrait.self),
        "run/to_mend/cause": words(of: SettingToMend.Cause.self),
    ]

    @Test(arguments: fields.keys.sorted())
    func itListsEveryWord(of field: String) throws {
        let file = PackageRoot.folder.appending(path: "docs/report.schema.json")
        let schema = try JSONSerialization.jsonObject(with: try Data(contentsOf: file)) as? [String: Any]
        let path = field.split(separator: "/").map { String($0) }
        var found = (schema?["$defs"] as? [String: Any])?[path[0]] as? [String: Any]
        for name in path.dropFirst() {
            // Of a list, in what it holds.
            let object = found?["items"] as? [String: Any] ?? found
            found = (object?["properties"] as? [String: Any])?[name] as? [String: Any]
        }
        #expect(try Set(#require(found?["enum"] as? [String])) == Self.fields[field])
    }
}
