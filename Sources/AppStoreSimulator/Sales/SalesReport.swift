public import Foundation

/// Apple's Summary Sales report for one day of Pacific Time, as in App Store Connect.
public struct SalesReport: Sendable {
    /// What the units of one line have in common.
    package struct Kind: Hashable, Sendable {
        let sku: String
        let title: String
        /// Apple's Product Type Identifier.
        let type: String
        /// The app's SKU; empty for the app itself.
        let parent: String
        let price: SimulatedTransaction.Price?
        let isRefund: Bool

        /// Makes the kind of an app or, if `parent` is the app's SKU, of a purchase in it.
        package init(
            sku: String, title: String, type: String, parent: String = "", price: SimulatedTransaction.Price? = nil,
            isRefund: Bool = false
        ) {
            self.sku = sku
            self.title = title
            self.type = type
            self.parent = parent
            self.price = price
            self.isRefund = isRefund
        }
    }

    /// `2026-10-02`
    public let day: String
    private var units: [Kind: Int] = [:]

    package init(day: String) {
        self.day = day
    }

    /// Adds units of a kind: they share a line of the report.
    package mutating func add(_ kind: Kind, units count: Int) { units[kind, default: 0] += count }

    /// The number of the team's vendor.
    public static let vendorNumber = "85012345"

    /// The day of a moment in Apple's time.
    public static func pacificDay(of moment: Date) -> String {
        String(StoreDate(moment).text(in: .pacific).prefix(10))
    }

    /// Apple's name for the file of a day.
    public var fileName: String { "S_D_\(Self.vendorNumber)_\(day.filter(\.isNumber)).txt" }

    /// The columns of version 1_3.
    static let columns = [
        "Provider", "Provider Country", "SKU", "Developer", "Title", "Version", "Product Type Identifier", "Units",
        "Developer Proceeds", "Begin Date", "End Date", "Customer Currency", "Country Code", "Currency of Proceeds",
        "Apple Identifier", "Customer Price", "Promo Code", "Parent Identifier", "Subscription", "Period", "Category",
        "CMB", "Device", "Supported Platforms", "Proceeds Reason", "Preserved Pricing", "Client", "Order Type",
    ]

    /// The content of the file, before it is compressed.
    public var text: String {
        let lines = units.keys.sorted { Self.place($0).lexicographicallyPrecedes(Self.place($1)) }.map(line)
        return ([Self.columns] + lines).map { $0.joined(separator: "\t") + "\n" }.joined()
    }

    private static func place(_ kind: Kind) -> [String] {
        [kind.parent, kind.sku, kind.type, kind.price?.currency ?? "", kind.isRefund ? "1" : "0"]
    }

    private func line(_ kind: Kind) -> [String] {
        let parts = day.split(separator: "-")
        let date = "\(parts[1])/\(parts[2])/\(parts[0])"
        let country = Storefront(currency: kind.price?.currency).code
        let currency = kind.price?.currency ?? "USD"
        let milliunits = kind.price?.milliunits ?? 0
        let count = (kind.isRefund ? -1 : 1) * (units[kind] ?? 0)
        // Apple keeps three tenths, and rounds to hundredths.
        let proceeds = milliunits * 7 / 100 * 10
        return [
            "APPLE", "US", kind.sku, "Example Games", kind.title, " ", kind.type, "\(count)", Self.amount(proceeds),
            date, date, currency, country, currency, "1400000001",
            (kind.isRefund ? "-" : "") + Self.amount(milliunits), " ", kind.parent.isEmpty ? " " : kind.parent,
            " ", " ", "Games", " ", "iPhone", "iOS", " ", " ", " ", " ",
        ]
    }

    private static func amount(_ milliunits: Int64) -> String {
        let hundredths = milliunits / 10
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}

extension SimulatedApp {
    /// The SKU that the app's owner chose.
    public var sku: String { Self.sku(of: bundleID) }

    /// The SKU of the app with this bundle id.
    package static func sku(of bundleID: String) -> String {
        "\(bundleID.split(separator: ".").last ?? "app")-2026".uppercased()
    }
}
