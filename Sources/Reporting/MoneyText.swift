public import Reconciliation

/// Money as the report writes it, for other texts about it.
public enum MoneyText {
    /// The amount with the decimals of its currency, and the currency's code: `45.98 USD`.
    public static func text(_ money: Money) -> String { Formats.text(money) }

    /// The sums, and how many purchases they leave out: `45.98 USD, 2 without a price`.
    static func list(_ sums: [Money], unpriced: Int) -> String {
        (sums.map(text) + self.unpriced(unpriced)).joined(separator: ", ")
    }

    /// How many purchases sums leave out, as their price is not known; empty if they leave out none.
    public static func unpriced(_ count: Int) -> [String] {
        count > 0 ? [English()(.unpriced, ["n": String(count)])] : []
    }

    /// Milliunits by currency.
    public static func byCurrency(_ sums: [Money]) -> [String: Int64] {
        Dictionary(sums.map { ($0.currency.text, $0.milliunits) }, uniquingKeysWith: { first, _ in first })
    }
}
