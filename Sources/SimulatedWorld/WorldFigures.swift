import AppStoreSimulator
public import Foundation

/// The figures that finance should see of a world: the truth by day and product, in whole milliunits.
///
/// The ledger knows of a purchase from the night that verifies its receipt, or from the moment at which the app's
/// server admits it, and of a refund from the night on which Apple tells of it.
public struct WorldFigures: Hashable, Sendable {
    /// What a sum is for.
    public struct Line: Hashable, Sendable {
        /// The day of UTC as `2026-10-02`: of the purchase, the delivery or the refund.
        public let day: String
        public let bundleID: String
        public let productID: String
        public let currency: String

        public init(day: String, bundleID: String, productID: String, currency: String) {
            self.day = day
            self.bundleID = bundleID
            self.productID = productID
            self.currency = currency
        }
    }

    /// The sum of transactions on one line.
    public struct Sum: Hashable, Sendable {
        public var transactions: Int
        public var units: Int
        public var milliunits: Int64

        public init(transactions: Int, units: Int, milliunits: Int64) {
            self.transactions = transactions
            self.units = units
            self.milliunits = milliunits
        }
    }

    public var owed: [Line: Sum] = [:]
    public var deliveries: [Line: Sum] = [:]
    public var refundsBeforeDelivery: [Line: Sum] = [:]

    public init() {}
}

extension World {
    /// The truth, as far as the ledger can know it at a moment.
    public func figures(at moment: Date) -> WorldFigures {
        let admissions = Dictionary(
            events.claims.filter {
                $0.kind != .alreadyDelivered && !WorldApp.withOwnTables.contains($0.bundleID)
            }.map { ($0.transaction.id, $0.at) },
            uniquingKeysWith: min)
        let products = Dictionary(
            uniqueKeysWithValues: Self.apps.map(\.catalog).flatMap { catalog in
                catalog.products.map { ([catalog.bundleID, $0.id], $0) }
            })
        var figures = WorldFigures()
        let truth = Fates(self)
        let starts = Dictionary(
            uniqueKeysWithValues: Self.apps.map { ($0.bundleID, $0.since(settings) ?? .distantPast) })
        for purchase in purchases
        where purchase.isOwed && purchase.purchasedAt >= starts[purchase.bundleID] ?? .distantPast {
            let admittedAt = admissions[purchase.transactionID]
            guard let product = products[[purchase.bundleID, purchase.transaction.productID]],
                let fate = fate(of: purchase, truth.fate(of: purchase).bookedAt, admittedAt: admittedAt, at: moment)
            else { continue }
            switch fate {
            case .owed: figures.owed.add(purchase, product, on: purchase.purchasedAt)
            case .delivered(let day): figures.deliveries.add(purchase, product, on: day)
            case .refunded(let day): figures.refundsBeforeDelivery.add(purchase, product, on: day)
            }
        }
        return figures
    }

    private enum Standing {
        case owed
        case delivered(Date)
        case refunded(Date)
    }

    private func fate(
        of purchase: WorldPurchase, _ deliveredAt: Date?, admittedAt: Date?, at moment: Date
    ) -> Standing? {
        if let deliveredAt, isTold(deliveredAt, of: purchase, by: moment),
            !(purchase.revokedAt.map { isTold($0, of: purchase, by: moment) } ?? false)
        {
            return .delivered(deliveredAt)
        }
        let verified = purchase.toldAt.flatMap { night(from: $0) }
        guard let known = [verified, admittedAt].compactMap(\.self).min(), known <= moment else { return nil }
        let isReversed = purchase.notifiedAt.reversal.flatMap { night(from: $0) }.map { $0 <= moment } ?? false
        if let refunded = purchase.refundedAt, let told = night(from: max(refunded, known)), told <= moment, !isReversed
        {
            return .refunded(refunded)
        }
        return .owed
    }

    /// Whether the job knows of an event: events in a company's own tables are told by the following night.
    private func isTold(_ event: Date, of purchase: WorldPurchase, by moment: Date) -> Bool {
        let told = WorldApp.withOwnTables.contains(purchase.bundleID) ? night(from: event) : event
        return told.map { $0 <= moment } ?? false
    }

    /// The first night at that moment or after it.
    private func night(from moment: Date) -> Date? {
        let number = settings.nightRun(from: moment)
        return number <= settings.nights ? settings.moment(ofNight: number) : nil
    }
}

extension [WorldFigures.Line: WorldFigures.Sum] {
    fileprivate mutating func add(_ purchase: WorldPurchase, _ product: CatalogProduct, on day: Date) {
        let transaction = purchase.transaction
        // Elsewhere the list price was paid.
        let price = purchase.mishap == .foreignStorefront ? transaction.price ?? product.price : product.price
        let line = WorldFigures.Line(
            day: day.formatted(.iso8601.year().month().day()), bundleID: purchase.bundleID, productID: product.id,
            currency: price.currency)
        var sum = self[line] ?? WorldFigures.Sum(transactions: 0, units: 0, milliunits: 0)
        sum.transactions += 1
        sum.units += transaction.quantity
        sum.milliunits += transaction.isTrial ? 0 : price.milliunits * Int64(transaction.quantity)
        self[line] = sum
    }
}
