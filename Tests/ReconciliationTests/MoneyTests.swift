import Reconciliation
import Testing

@Suite struct MoneyTests {
    /// With the decimals of its currency, and never rounded.
    @Test(
        arguments: [
            (1_990, "USD", "1.99"), (-1_990, "USD", "-1.99"), (0, "USD", "0.00"), (10, "USD", "0.01"),
            (1_995, "USD", "1.995"), (-5, "USD", "-0.005"), (230_000, "JPY", "230"), (230_500, "JPY", "230.500"),
            (4_250, "KWD", "4.250"), (4_000, "KWD", "4.000"), (.min, "USD", "-9223372036854775.808"),
        ] as [(Int64, String, String)])
    func anAmountIsShownExactly(milliunits: Int64, currency: String, amount: String) throws {
        let money = Money(milliunits: milliunits, currency: try #require(CurrencyCode(currency)))
        #expect(money.amount == amount && "\(money)" == "\(amount) \(currency)")
    }

    @Test func currenciesAreInTheOrderOfTheirCodes() throws {
        let codes = try ["CNY", "JPY", "USD"].map { try #require(CurrencyCode($0)) }
        #expect(codes.reversed().sorted() == codes)
    }
}
