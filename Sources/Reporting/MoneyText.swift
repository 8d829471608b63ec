public import Reconciliation

/// Money as the report writes it, for other texts about it.
public enum MoneyText {
    /// The amount with the decimals of its currency, and the currency's code: `45.98 USD`.
    public static func text(_ money: Money) -> String { Formats.text(money) }
}
