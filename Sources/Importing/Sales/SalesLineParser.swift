import Reconciliation

/// Reads the lines of one sales report.
struct SalesLineParser {
    /// What a line tells.
    enum Parsed {
        case sale(SalesLine)
        /// No sale of an in-app purchase, but it shows that the report is of this day.
        case other(SalesDay)
    }

    /// The line's units are of a week or a month, and so belong to no day.
    struct NotDaily: Error {
        let begin, end: CalendarDay
    }

    private let header: SalesHeader
    /// The most bytes of the account's name.
    private static let longestDeveloper = 1000
    /// The most bytes of an app's SKU, of which Apple takes a hundred: an index has to hold it.
    private static let longestAppSKU = 1000
    /// The most units of one product in one country on one day at one price: the sums of such lines, for a month and
    /// all products, still fit the tables.
    private static let mostUnits: Int64 = 1_000_000_000
    fileprivate static let mostMilliunits: Int64 = 10_000_000_000_000_000

    init(header: SalesHeader) {
        self.header = header
    }

    /// - Throws: `LineProblem` if the line can't be taken; `NotDaily`.
    func parse(_ line: UnsafeRawBufferPointer) throws -> Parsed {
        let fields = try Fields(line, header: header)
        let day = try day(fields)
        let developer = try fields.text(.developer)
        guard developer.utf8.count <= Self.longestDeveloper else {
            throw LineProblem(.badValue, "Developer has more than \(Self.longestDeveloper) bytes")
        }
        let type = try fields.required(.productType)
        switch SalesProductType(identifier: type) {
        case .restored, .other: return .other(SalesDay(day: day, developer: developer))
        case .inAppPurchase: return .sale(try sale(fields, day: day, developer: developer, type: type))
        case .unknownInAppPurchase:
            throw LineProblem(.badValue, "Product Type Identifier is none of Apple's for in-app purchases")
        }
    }

    /// The line's own name, for the account of refused lines.
    func sku(of line: UnsafeRawBufferPointer) -> String? {
        guard let fields = try? Fields(line, header: header), let sku = try? fields.text(.sku), !sku.isEmpty
        else { return nil }
        return String(sku.prefix(100))
    }

    private func day(_ fields: Fields) throws -> CalendarDay {
        let (begin, end) = (try fields.day(.beginDate), try fields.day(.endDate))
        guard begin == end else { throw NotDaily(begin: begin, end: end) }
        return begin
    }

    private func sale(
        _ fields: Fields, day: CalendarDay, developer: String, type: String
    ) throws(LineProblem) -> SalesLine {
        guard let productID = ProductID(try fields.required(.sku)) else {
            throw LineProblem(.badValue, "SKU is no product id: 1 to 255 visible ASCII characters")
        }
        guard let units = DecimalText.whole(try fields.required(.units)) else {
            throw LineProblem(.badValue, "Units is no whole number")
        }
        guard units.magnitude <= Self.mostUnits else {
            throw LineProblem(.badValue, "Units is more than anybody sold")
        }
        guard let storefront = Country.storefront(ofCode: try fields.required(.countryCode)) else {
            throw LineProblem(.badValue, "Country Code is no country")
        }
        let price = try fields.money(.customerPrice, .customerCurrency, units: units)
        let isPriced = try !fields.text(.customerPrice).isEmpty
        let proceeds = try fields.money(.proceeds, .proceedsCurrency, units: units)
        let appSKU = try fields.text(.parentIdentifier)
        guard appSKU.utf8.count <= Self.longestAppSKU else {
            throw LineProblem(.badValue, "Parent Identifier has more than \(Self.longestAppSKU) bytes")
        }
        return SalesLine(
            day: day, developer: developer, appSKU: appSKU, productID: productID,
            type: type, storefront: storefront, units: units,
            price: price, isFree: price == nil && isPriced, proceeds: proceeds)
    }
}

/// The fields of one line.
private struct Fields {
    private let header: SalesHeader
    private let fields: [Slice<UnsafeRawBufferPointer>]

    init(_ line: UnsafeRawBufferPointer, header: SalesHeader) throws(LineProblem) {
        self.header = header
        fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        guard fields.count == header.width else {
            throw LineProblem(.malformed, "the line has \(fields.count) fields and the header \(header.width)")
        }
    }

    /// The text of a field; empty if there is none.
    func text(_ column: SalesColumn) throws(LineProblem) -> String {
        guard let place = header.place(of: column) else { return "" }
        let bytes = UnsafeRawBufferPointer(rebasing: fields[place])
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw LineProblem(.notText, "\(column.name) is not UTF-8, or holds a NUL")
        }
        return text.trimmed
    }

    func required(_ column: SalesColumn) throws(LineProblem) -> String {
        let text = try text(column)
        guard !text.isEmpty else { throw LineProblem(.missing, "\(column.name) is missing") }
        return text
    }

    func day(_ column: SalesColumn) throws(LineProblem) -> CalendarDay {
        guard let day = CalendarDay(american: try required(column)) else {
            throw LineProblem(.badValue, "\(column.name) is no day such as 11/20/2026")
        }
        return day
    }

    /// The amount for one unit; `nil` if there is none, or if it is zero without a currency. Refunds have a negative
    /// price; the units say that already.
    func money(
        _ amount: SalesColumn, _ currency: SalesColumn, units: Int64
    ) throws(LineProblem) -> Money? {
        let (text, code) = (try text(amount), try text(currency))
        guard !text.isEmpty else { return nil }
        guard let milliunits = DecimalText.milliunits(text), milliunits > Int64.min else {
            throw LineProblem(.badValue, "\(amount.name) is no amount with at most three decimals")
        }
        let (product, isTooGreat) = milliunits.multipliedReportingOverflow(by: units)
        guard !isTooGreat, product.magnitude <= SalesLineParser.mostMilliunits else {
            throw LineProblem(.badValue, "\(amount.name) times Units is more than anybody sold")
        }
        guard !code.isEmpty || milliunits == 0 else {
            throw LineProblem(.missing, "\(currency.name) is missing")
        }
        guard !code.isEmpty else { return nil }
        guard let currencyCode = CurrencyCode(code) else {
            throw LineProblem(.badValue, "\(currency.name) is no code of three capital letters")
        }
        return Money(milliunits: abs(milliunits), currency: currencyCode)
    }
}
