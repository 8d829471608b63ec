public import Reconciliation

/// Money as the report writes it, for others that tell of it.
public enum MoneyText {
    /// The amount with the decimals that its currency has, and the currency's code: `45.98 USD`.
    public static func text(_ money: Money) -> String { Formats.text(money) }
}
