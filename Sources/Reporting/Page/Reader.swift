import Foundation
import Reconciliation

/// Someone who reads a page, with their language and time zone.
struct Reader {
    let words: any Wording
    let timeZone: TimeZone
    private let locale: Locale
    private let dayStyle, momentStyle: Date.FormatStyle

    init(_ language: ReportLanguage, timeZone: TimeZone) {
        words = language.wording
        locale = language.locale
        self.timeZone = timeZone
        dayStyle = Date.FormatStyle(date: .abbreviated, time: .omitted, locale: locale, timeZone: timeZone)
        momentStyle = Date.FormatStyle(date: .abbreviated, time: .shortened, locale: locale, timeZone: timeZone)
    }

    var language: ReportLanguage { words.language }

    func day(_ date: Date) -> String { date.formatted(dayStyle) }

    /// A day, which is the same in every time zone.
    func day(_ day: CalendarDay) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(year: day.year, month: day.month, day: day.day)
        guard let date = calendar.date(from: parts) else { return day.description }
        return date.formatted(Date.FormatStyle(date: .abbreviated, time: .omitted, locale: locale, timeZone: .gmt))
    }

    /// A country's name.
    func country(_ place: ComparedSales.Place) -> String {
        guard let storefront = place.storefront else { return words(.allCountries) }
        return Country.code(ofStorefront: storefront).flatMap(locale.localizedString(forRegionCode:)) ?? storefront
    }

    /// To the minute, as text.
    func time(_ date: Date) -> String { date.formatted(momentStyle) }

    /// To the minute; the element's attribute has the second, in UTC.
    func moment(_ date: Date) -> HTML {
        "<time datetime=\"\(Formats.utc(date))\">\(date.formatted(momentStyle))</time>"
    }

    func number(_ value: Int) -> String { value.formatted(.number.locale(locale)) }

    func number(_ value: Double, decimals: Int) -> String {
        value.formatted(.number.precision(.fractionLength(decimals)).locale(locale))
    }

    /// An amount as people write it in that language, never rounded.
    func money(_ money: Money) -> String {
        let amount = Decimal(money.milliunits) / 1000
        let style = Decimal.FormatStyle.Currency(code: money.currency.text, locale: locale)
        return amount.formatted(style.precision(.fractionLength(Formats.shownDecimals(of: money))))
    }

    func age(of date: Date, at now: Date) -> String { words.age(now.timeIntervalSince(date)) }
}

/// All readers for whom a page is written: it holds every language, and shows the one that its `html` element names.
struct Readers {
    let all: [Reader]
    /// The reader in whose language the page opens.
    let first: Reader

    init(_ language: ReportLanguage, timeZone: TimeZone) {
        first = Reader(language, timeZone: timeZone)
        all = ReportLanguage.allCases.map { Reader($0, timeZone: timeZone) }
    }

    /// A piece of the page in every language.
    func each(_ body: (Reader) -> HTML) -> HTML {
        all.reduce("") { html, reader in
            "\(html)<span lang=\"\(reader.language.tag)\">\(body(reader))</span>"
        }
    }

    func text(_ phrase: Phrase) -> HTML { each { $0.words.html(phrase) } }

    /// What stands above a list: how much of it is shown.
    ///
    /// - Parameters:
    ///   - part: says so of a list of which not all is shown.
    ///   - whole: says so of one that is shown whole.
    func caption(shown: Int, of total: Int, part: Phrase = .partOfList, whole: Phrase = .wholeList) -> HTML {
        each {
            $0.words.html(
                shown < total ? part : whole, ["n": "\($0.number(shown))", "total": "\($0.number(total))"])
        }
    }
}
