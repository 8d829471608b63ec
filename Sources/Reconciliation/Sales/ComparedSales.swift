/// What Apple sold of a product on a day, beside what the tables saw of it.
public struct ComparedSales: Hashable, Sendable {
    /// In Pacific Time.
    public var day: CalendarDay
    public var bundleID: BundleID
    public var productID: ProductID
    public var productName: String?
    public var place: Place
    public var unitsSold: Int
    public var unitsSeen: Int
    /// The product's difference over this day, the one before and the one after, in all countries. It is zero if Apple
    /// and the receipt put a purchase at midnight on different days.
    public var differenceAround: Int
    public var refundsSold: Int
    public var refundsSeen: Int

    /// Whether one country is compared, or all of them together.
    public enum Place: Hashable, Sendable {
        /// Every transaction of the day and product tells its storefront (three letters).
        case country(String)
        /// Not all do, so all countries are compared together.
        case everywhere

        public var storefront: String? {
            if case .country(let storefront) = self { storefront } else { nil }
        }
    }

    public init(
        day: CalendarDay, bundleID: BundleID, productID: ProductID, productName: String? = nil, place: Place,
        unitsSold: Int, unitsSeen: Int, differenceAround: Int, refundsSold: Int = 0, refundsSeen: Int = 0
    ) {
        self.day = day
        self.bundleID = bundleID
        self.productID = productID
        self.productName = productName
        self.place = place
        self.unitsSold = unitsSold
        self.unitsSeen = unitsSeen
        self.differenceAround = differenceAround
        self.refundsSold = refundsSold
        self.refundsSeen = refundsSeen
    }

    /// Above zero if something was sold of which nothing ever came.
    public var difference: Int { unitsSold - unitsSeen }
    public var refundDifference: Int { refundsSold - refundsSeen }
}

/// The sums over all days whose sales report was read.
public struct SalesFigures: Hashable, Sendable {
    /// How many days, the first and the last of them.
    public var days: Int
    public var first: CalendarDay
    public var last: CalendarDay
    public var unitsSold: Int
    public var unitsSeen: Int
    public var refundsSold: Int
    public var refundsSeen: Int
    /// The sum of the differences above zero, and of those below.
    public var missing: Int
    public var surplus: Int

    public init(
        days: Int, first: CalendarDay, last: CalendarDay, unitsSold: Int, unitsSeen: Int, refundsSold: Int,
        refundsSeen: Int, missing: Int, surplus: Int
    ) {
        self.days = days
        self.first = first
        self.last = last
        self.unitsSold = unitsSold
        self.unitsSeen = unitsSeen
        self.refundsSold = refundsSold
        self.refundsSeen = refundsSeen
        self.missing = missing
        self.surplus = surplus
    }
}
