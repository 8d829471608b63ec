import Foundation

/// A language that a report can be read in. The page holds every one of them; which one it opens in is configured.
public enum ReportLanguage: String, Sendable, CaseIterable {
    case english = "en"
    case simplifiedChinese = "zh"

    /// As the attribute `lang` of a page names it (BCP 47).
    var tag: String {
        switch self {
        case .english: "en"
        case .simplifiedChinese: "zh-Hans"
        }
    }

    /// Whose dates and amounts its readers are used to.
    var locale: Locale {
        switch self {
        case .english: Locale(identifier: "en_GB")
        case .simplifiedChinese: Locale(identifier: "zh_CN")
        }
    }

    /// The same for the page's script (BCP 47).
    var browserLocale: String { locale.identifier.replacingOccurrences(of: "_", with: "-") }

    var wording: any Wording {
        switch self {
        case .english: English()
        case .simplifiedChinese: SimplifiedChinese()
        }
    }
}
