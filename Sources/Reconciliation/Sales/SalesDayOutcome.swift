/// What became of the sales report of one day.
public struct SalesDayOutcome: Hashable, Sendable {
    /// How the report compares with an earlier one of its day.
    public enum Standing: String, Hashable, Sendable {
        /// The first of its day.
        case new
        /// It took the place of an earlier one, which said otherwise.
        case replaced
        /// The earlier one says the same.
        case unchanged
        /// It says what one said that was corrected since: the correction stays.
        case outdated
        /// The earlier one stays: this one says otherwise, and some of its lines were refused.
        case kept
    }

    public let day: CalendarDay
    /// The account, as the report calls it.
    public let developer: String
    public let standing: Standing
    /// Lines of in-app purchases of apps that are known.
    public let lines: Int
    public let unitsSold: Int
    public let unitsRefunded: Int

    public init(
        day: CalendarDay, developer: String, standing: Standing, lines: Int, unitsSold: Int, unitsRefunded: Int
    ) {
        self.day = day
        self.developer = developer
        self.standing = standing
        self.lines = lines
        self.unitsSold = unitsSold
        self.unitsRefunded = unitsRefunded
    }
}
