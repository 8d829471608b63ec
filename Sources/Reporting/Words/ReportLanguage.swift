import Foundation

/// A language of a report. The page holds all of them; which one it opens in is configured.
public enum ReportLanguage: String, Sendable, CaseIterable {
    case english = "en"
    case simplifiedChinese = "zh"

    /// The value of the attribute `lang` of a page (BCP 47).
    var tag: String {
        switch self {
        case .english: "en"
        case .simplifiedChinese: "zh-Hans"
        }
    }

    /// The locale whose dates and amounts its readers are used to.
    var locale: Locale {
        switch self {
        case .english: Locale(identifier: "en_GB")
        case .simplifiedChinese: Locale(identifier: "zh_CN")
        }
    }

    /// The locale for the page's script (BCP 47).
    var browserLocale: String { locale.identifier.replacingOccurrences(of: "_", with: "-") }

    var wording: any Wording {
        switch self {
        case .english: English()
        case .simplifiedChinese: SimplifiedChinese()
        }
    }
}
