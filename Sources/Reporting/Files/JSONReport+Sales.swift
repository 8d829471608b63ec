import Reconciliation

extension JSONReport {
    /// The sums over the days whose sales report was read.
    struct Sales: Encodable {
        let days: Int
        let firstDay, lastDay: String
        let unitsSold, unitsSeen, refundsSold, refundsSeen, missing, surplus: Int

        init(_ figures: SalesFigures) {
            days = figures.days
            firstDay = figures.first.description
            lastDay = figures.last.description
            unitsSold = figures.unitsSold
            unitsSeen = figures.unitsSeen
            refundsSold = figures.refundsSold
            refundsSeen = figures.refundsSeen
            missing = figures.missing
            surplus = figures.surplus
        }
    }

    struct SalesDifference: Encodable {
        let day, bundleID, productID: String
        let productName: String?
        let comparedBy: String
        let storefront: String?
        let unitsSold, unitsSeen, difference, differenceAround, refundsSold, refundsSeen, refundDifference: Int

        init(_ sales: ComparedSales) {
            day = sales.day.description
            bundleID = sales.bundleID.text
            productID = sales.productID.text
            productName = sales.productName
            comparedBy = sales.place.storefront == nil ? "product" : "country"
            storefront = sales.place.storefront
            unitsSold = sales.unitsSold
            unitsSeen = sales.unitsSeen
            difference = sales.difference
            differenceAround = sales.differenceAround
            refundsSold = sales.refundsSold
            refundsSeen = sales.refundsSeen
            refundDifference = sales.refundDifference
        }
    }
}
