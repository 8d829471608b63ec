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

    /// ISO 4217 has a minor unit of each.
    @Test(arguments: [
        (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
        (3, "BHD IQD JOD KWD LYD OMR TND"), (2, "AED BRL CNY EUR HUF IDR INR TWD USD ZAR"),
    ])
    func eachCurrencyHasItsDecimals(decimals: Int, currencies: String) throws {
        let amount = decimals == 0 ? "12" : "12." + String(repeating: "0", count: decimals)
        for code in currencies.split(separator: " ") {
            let currency = try #require(CurrencyCode(String(code)))
            #expect(Money(milliunits: 12_000, currency: currency).amount == amount, "\(code)")
        }
    }

    @Test func currenciesAreInTheOrderOfTheirCodes() throws {
        let codes = try ["CNY", "JPY", "USD"].map { try #require(CurrencyCode($0)) }
        #expect(codes.reversed().sorted() == codes)
    }
}
