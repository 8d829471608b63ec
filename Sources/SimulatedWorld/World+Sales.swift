public import AppStoreSimulator
import Foundation

extension World {
    /// Apple's sales report of a day of Pacific Time: everything that was truly sold and refunded, of which the apps'
    /// servers may never have heard.
    ///
    /// - Parameter day: such as `2026-10-02`.
    public func salesReport(of day: String) -> SalesReport {
        var report = SalesReport(day: day)
        for catalog in Self.apps.map(\.catalog) {
            let app = SalesReport.Kind(
                sku: SimulatedApp.sku(of: catalog.bundleID), title: catalog.bundleID, type: "1F")
            report.add(app, units: settings.customers)
        }
        for purchase in purchases {
            guard purchase.isOwed else {
                if purchase.mishap == .restored, SalesReport.pacificDay(of: purchase.purchasedAt) == day {
                    report.add(purchase.kind(type: "IA3"), units: 1)
                }
                continue
            }
            let quantity = purchase.transaction.quantity
            if SalesReport.pacificDay(of: purchase.purchasedAt) == day { report.add(purchase.kind(), units: quantity) }
            if let refundedAt = purchase.refundedAt, refundedAt <= settings.end,
                SalesReport.pacificDay(of: refundedAt) == day
            {
                report.add(purchase.kind(isRefund: true), units: quantity)
            }
        }
        return report
    }

    /// The last day of Pacific Time that is over on a night.
    public func lastPacificDay(beforeNight number: Int) -> String {
        SalesReport.pacificDay(of: settings.moment(ofNight: number) - 86_400)
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
