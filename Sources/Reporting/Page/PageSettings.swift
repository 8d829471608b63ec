import Foundation
import Reconciliation

/// What the page's script needs beside the cases: the words of every language, and the meanings of the cases' numbers.
struct PageSettings: Encodable {
    let fields = CaseData.fields
    let advice = CaseData.advice.map(\.rawValue)
    let seen = CaseData.seen.map(\.rawValue)
    let likelihoods = Likelihood.allCases.map(\.rawValue)
    let reasons = Reason.allCases.map(\.rawValue)
    let sources = Source.allCases.map(\.rawValue)
    let outcomes = ClaimOutcome.allCases.map(\.rawValue)
    let environments = Reconciliation.Environment.allCases.map(\.rawValue)
    let brackets = AgeBracket.allCases.map(\.rawValue)
    let languages: [String: Language]
    let timeZone: String
    let now: Int
    /// How many patterns there are; cases refer to them by numbers from one.
    let patterns: Int
    let apps: [String]
    let products: [[String]]

    struct Language: Encodable {
        let tag, locale: String
        let words: [String: String]
    }

    init(run: RunReport, cases: CaseData) {
        languages = Dictionary(
            uniqueKeysWithValues: ReportLanguage.allCases.map { language in
                let (tag, locale) = (language.tag, language.browserLocale)
                let names = Self.names(of: run.patterns, Reader(language, timeZone: run.timeZone))
                let words = Self.words(language.wording).merging(names) { word, _ in word }
                return (language.rawValue, Language(tag: tag, locale: locale, words: words))
            })
        patterns = run.patterns.count
        timeZone = Self.browserName(of: run.timeZone)
        now = Int(run.now.timeIntervalSince1970)
        apps = cases.apps.values.map(\.text)
        products = cases.products.values.map { [$0.id.text, $0.name ?? ""] }
    }

    /// The zone by a name that browsers know: what Foundation calls GMT+0800 is +08:00 to them. By a name that they do
    /// not know, the cases would be told in another zone than the head of the page.
    private static func browserName(of zone: TimeZone) -> String {
        guard let offset = zone.identifier.wholeMatch(of: /GMT([+-]\d\d):?(\d\d)/) else { return zone.identifier }
        return "\(offset.1):\(offset.2)"
    }

    /// Each pattern by its number.
    private static func names(of patterns: [Pattern], _ reader: Reader) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: patterns.enumerated().map { place, pattern in
                ("pattern.\(place + 1)", PatternText(pattern, reader.words, moment: reader.time).name)
            })
    }

    /// Each phrase by its name, and each value of the rules as `kind.value`.
    private static func words(_ words: any Wording) -> [String: String] {
        var all = Dictionary(uniqueKeysWithValues: Phrase.allCases.map { ($0.rawValue, words.text(of: $0)) })
        for value in Likelihood.allCases { all["likelihood.\(value.rawValue)"] = words.name(of: value) }
        for value in Reason.allCases {
            all["reason.\(value.rawValue)"] = words.name(of: value)
            all["sentence.\(value.rawValue)"] = words.sentence(value)
        }
        for value in Source.allCases { all["source.\(value.rawValue)"] = words.name(of: value) }
        for value in ClaimOutcome.allCases { all["outcome.\(value.rawValue)"] = words.name(of: value) }
        for value in AgeBracket.allCases { all["age.\(value.rawValue)"] = words.name(of: value) }
        return all
    }
}
