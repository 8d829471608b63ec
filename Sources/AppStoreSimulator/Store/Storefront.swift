/// The store of a country, which sells in a currency.
struct Storefront {
    /// With three letters, as in transactions, and with two, as in sales reports.
    let country, code: String
    let id: String

    init(currency: String?) {
        switch currency {
        case "CNY": (country, code, id) = ("CHN", "CN", "143465")
        case "JPY": (country, code, id) = ("JPN", "JP", "143462")
        case "TRY": (country, code, id) = ("TUR", "TR", "143480")
        default: (country, code, id) = ("USA", "US", "143441")
        }
    }
}
