public import Foundation

/// A Summary Sales report of Apple's for one day of Pacific Time, as App Store Connect hands it out.
public struct SalesReport: Sendable {
    /// What is summed up in one line.
    struct Kind: Hashable, Sendable {
        let sku: String
        let title: String
        /// Apple's Product Type Identifier.
        let type: String
        /// The app's SKU; empty for the app itself.
        let parent: String
        let price: SimulatedTransaction.Price?
        let isRefund: Bool
    }

    /// `2026-10-02`
    public let day: String
    private var units: [Kind: Int] = [:]

    init(day: String) {
        self.day = day
    }

    mutating func add(_ kind: Kind, units count: Int) { units[kind, default: 0] += count }

    /// Of the team's vendor.
    public static let vendorNumber = "85012345"

    /// As Apple calls the file of a day.
    public var fileName: String { "S_D_\(Self.vendorNumber)_\(day.filter(\.isNumber)).txt" }

    /// The columns of version 1_3.
    static let columns = [
        "Provider", "Provider Country", "SKU", "Developer", "Title", "Version", "Product Type Identifier", "Units",
        "Developer Proceeds", "Begin Date", "End Date", "Customer Currency", "Country Code", "Currency of Proceeds",
        "Apple Identifier", "Customer Price", "Promo Code", "Parent Identifier", "Subscription", "Period", "Category",
        "CMB", "Device", "Supported Platforms", "Proceeds Reason", "Preserved Pricing", "Client", "Order Type",
    ]

    /// The whole file, before it is compressed.
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

extension World {
    /// Apple's sales report of a day of Pacific Time: all that was truly sold and refunded, of which the apps' servers
    /// may never have heard.
    ///
    /// - Parameter day: such as `2026-10-02`.
    public func salesReport(of day: String) -> SalesReport {
        var report = SalesReport(day: day)
        for catalog in Self.apps.map(\.catalog) {
            let app = SalesReport.Kind(
                sku: SimulatedApp.sku(of: catalog.bundleID), title: catalog.bundleID, type: "1F", parent: "",
                price: nil,
                isRefund: false)
            report.add(app, units: settings.customers)
        }
        for purchase in purchases {
            guard purchase.isOwed else {
                if purchase.mishap == .restored, Self.pacificDay(of: purchase.purchasedAt) == day {
                    report.add(purchase.kind(type: "IA3"), units: 1)
                }
                continue
            }
            let quantity = purchase.transaction.quantity
            if Self.pacificDay(of: purchase.purchasedAt) == day { report.add(purchase.kind(), units: quantity) }
            if let refundedAt = purchase.refundedAt, refundedAt <= settings.end, Self.pacificDay(of: refundedAt) == day
            {
                report.add(purchase.kind(isRefund: true), units: quantity)
            }
        }
        return report
    }

    /// The last day of Pacific Time that is over by a night.
    public func lastPacificDay(beforeNight number: Int) -> String {
        Self.pacificDay(of: settings.moment(ofNight: number) - 86_400)
    }

    /// In Apple's time.
    public static func pacificDay(of moment: Date) -> String {
        String(StoreDate(moment).text(in: .pacific).prefix(10))
    }
}

extension WorldPurchase {
    fileprivate func kind(type: String? = nil, isRefund: Bool = false) -> SalesReport.Kind {
        SalesReport.Kind(
            sku: transaction.productID, title: transaction.productID,
            type: type ?? (transaction.isAutoRenewable ? "IAY" : "IA1"), parent: SimulatedApp.sku(of: bundleID),
            price: transaction.price, isRefund: isRefund)
    }
}

extension SimulatedApp {
    /// The SKU that an app's owner gave it.
    public var sku: String { Self.sku(of: bundleID) }

    static func sku(of bundleID: String) -> String {
        "\(bundleID.split(separator: ".").last ?? "app")-2026".uppercased()
    }
}
