/// The columns of a Summary Sales report that are read; all others are passed over, for Apple adds some at times.
enum SalesColumn: Int, CaseIterable {
    case sku, parentIdentifier, productType, units, beginDate, endDate, countryCode
    case developer, customerPrice, customerCurrency, proceeds, proceedsCurrency

    /// As Apple's header has it.
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

    /// Whether a report without it is of no use.
    var isRequired: Bool {
        switch self {
        case .sku, .parentIdentifier, .productType, .units, .beginDate, .endDate, .countryCode: true
        case .developer, .customerPrice, .customerCurrency, .proceeds, .proceedsCurrency: false
        }
    }
}

/// Where the columns stand in one file.
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
    /// Without the spaces around it: Apple writes a space where there is nothing, and lines may end as Windows has it.
    var trimmed: String {
        let inner = utf8.drop { $0 == 0x20 || $0 == 0x0D }
        let end = inner.lastIndex { $0 != 0x20 && $0 != 0x0D }
        return end.map { String(decoding: inner[...$0], as: UTF8.self) } ?? ""
    }
}
