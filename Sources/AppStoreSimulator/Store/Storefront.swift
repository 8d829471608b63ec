/// The country's store that sells in a currency.
struct Storefront {
    /// Of three letters, as transactions have it, and of two, as sales reports do.
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
