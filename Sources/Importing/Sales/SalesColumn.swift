/// The columns of a Summary Sales report that are read; all others are ignored, as Apple adds some at times.
enum SalesColumn: Int, CaseIterable {
    case sku, parentIdentifier, productType, units, beginDate, endDate, countryCode
    case developer, customerPrice, customerCurrency, proceeds, proceedsCurrency

    /// The name in Apple's header.
    var name: String {
        switch self {
        case .sku: "SKU"
        case .parentIdentifier: "Parent Identifier"
        case .productType: "Product Type Identifier"
        case .units: "Units"
        case .beginDate: "Begin Date"
        case .endDate: "End Date"
        case .countryCode: "Country Code"
        case .developer: "Developer"
        case .customerPrice: "Customer Price"
        case .customerCurrency: "Customer Currency"
        case .proceeds: "Developer Proceeds"
        case .proceedsCurrency: "Currency of Proceeds"
        }
    }

    /// Whether a report without it is useless.
    var isRequired: Bool {
        switch self {
        case .sku, .parentIdentifier, .productType, .units, .beginDate, .endDate, .countryCode: true
        case .developer, .customerPrice, .customerCurrency, .proceeds, .proceedsCurrency: false
        }
    }
}

/// The positions of the columns in one file.
struct SalesHeader {
    /// How many fields every line has.
    let width: Int
    private let places: [Int?]

    init(_ line: UnsafeRawBufferPointer, file: String) throws(SalesError) {
        let names = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            .map { String(decoding: UnsafeRawBufferPointer(rebasing: $0), as: UTF8.self).trimmed.lowercased() }
        width = names.count
        var places = [Int?](repeating: nil, count: SalesColumn.allCases.count)
        for column in SalesColumn.allCases {
            let found = names.indices.filter { names[$0] == column.name.lowercased() }
            guard found.count < 2 else { throw .repeatedColumn(column.name, file: file) }
            places[column.rawValue] = found.first
        }
        self.places = places
        let missing = SalesColumn.allCases.filter { $0.isRequired && places[$0.rawValue] == nil }
        guard missing.isEmpty else { throw .missingColumns(missing.map(\.name), file: file) }
    }

    func place(of column: SalesColumn) -> Int? { places[column.rawValue] }
}

extension String {
    /// The text without surrounding spaces: Apple writes a space for an empty field, and lines may end as on Windows.
    var trimmed: String {
        let inner = utf8.drop { $0 == 0x20 || $0 == 0x0D }
        let end = inner.lastIndex { $0 != 0x20 && $0 != 0x0D }
        return end.map { String(decoding: inner[...$0], as: UTF8.self) } ?? ""
    }
}
