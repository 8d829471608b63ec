import Foundation
public import Reconciliation

/// What the report says of a figure that has reached its threshold.
struct AlertText: Sentence {
    let phrase: Phrase
    let values: [String: String]

    init(_ figure: WatchedFigure, _ words: any Wording, money: (Money) -> String, moment: (Date) -> String) {
        let app = figure.bundleID.text
        switch figure.value {
        case .unitsMissing(let units, let threshold):
            phrase = .alertUnitsMissing
            values = ["app": app, "n": "\(units)", "threshold": "\(threshold)"]
        case .shareLost(let lost, let purchases, let threshold):
            phrase = .alertShareLost
            values = [
                "app": app, "n": "\(lost)", "purchases": "\(purchases)",
                "share": Self.percent(Double(lost) / Double(max(purchases, 1))),
                "threshold": Self.percent(threshold),
            ]
        case .moneyLost(let sum, let threshold):
            phrase = .alertMoneyLost
            values = ["app": app, "money": money(sum), "threshold": money(threshold)]
        case .oldestCase(let age, let threshold):
            phrase = .alertOldestCase
            values = ["app": app, "age": words.age(age), "threshold": words.age(threshold)]
        case .redeliveriesFailing(let count, let threshold):
            phrase = .alertRedeliveriesFailing
            values = ["app": app, "n": "\(count)", "threshold": "\(threshold)"]
        case .drySpell(let since, let delivered, _):
            phrase = .drySpell
            values = ["app": app, "n": "\(delivered)", "time": since.map(moment) ?? "—"]
        }
    }

    /// Precise enough to show that it is over.
    private static func percent(_ share: Double) -> String {
        let text = String(format: "%.2f", share * 100)
        return (text.hasSuffix(".00") ? String(text.dropLast(3)) : text) + " %"
    }
}

extension WatchedFigure {
    /// An English sentence that says that it has reached its threshold.
    public var alertText: String {
        English().line(AlertText(self, English(), money: Formats.text, moment: Formats.utc))
    }
}
