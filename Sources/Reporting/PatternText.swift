import Foundation
import Reconciliation

/// A line that says what many cases have in common, and what to look at first.
struct PatternText: Sentence {
    let phrase: Phrase
    let values: [String: String]
    /// A name of a word or two, for lists of patterns.
    let name: String

    /// - Parameter moment: formats a time for the reader.
    init(_ pattern: Pattern, _ words: any Wording, moment: (Date) -> String) {
        var values = [
            "app": pattern.bundleID.text, "from": moment(pattern.from), "until": pattern.until.map(moment) ?? "",
            "n": String(pattern.counts.cases), "customers": String(pattern.counts.customers),
            "delivered": String(pattern.counts.delivered),
        ]
        switch pattern.cause {
        case .outage:
            (phrase, name) = (.patternOutage, "\(words(.outage)) · \(pattern.bundleID)")
        case .product(let productID):
            values["product"] = productID.text
            (phrase, name) = (.patternProduct, productID.text)
        case .device(let trait, let value):
            values["trait"] = words(Self.name(of: trait))
            values["value"] = value
            (phrase, name) = (.patternDevice, value)
        case .hours:
            (phrase, name) = (.patternHours, moment(pattern.from))
        }
        self.values = values
    }

    private static func name(of trait: DeviceTrait) -> Phrase {
        switch trait {
        case .model: .deviceModel
        case .system: .deviceSystem
        case .appVersion: .appVersion
        }
    }
}
