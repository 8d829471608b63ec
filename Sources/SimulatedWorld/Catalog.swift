import AppStoreSimulator
import PostgreSQL

/// A product of the world, as a row of `iap.products`.
struct CatalogProduct: Hashable, Sendable {
    /// The words of the table's column `type`.
    enum Kind: String, Sendable {
        case consumable
        case nonConsumable = "non_consumable"
        case autoRenewable = "auto_renewable"
    }

    let id: String
    let kind: Kind
    let name: String
    let milliunits: Int64
    let currency: String
    /// How many days a period lasts, if the product renews.
    var days = 7

    var price: SimulatedTransaction.Price {
        SimulatedTransaction.Price(milliunits: milliunits, currency: currency)
    }

    var type: SimulatedTransaction.ProductType {
        switch kind {
        case .consumable: .consumable
        case .nonConsumable: .nonConsumable
        case .autoRenewable: .autoRenewable
        }
    }
}

/// What an app of the world sells.
struct Catalog: Sendable {
    let bundleID: String
    let consumables: [CatalogProduct]
    let nonConsumable: CatalogProduct
    let subscription: CatalogProduct
    /// The higher product of its group, with longer periods.
    var higher: CatalogProduct?

    var products: [CatalogProduct] { consumables + [nonConsumable, subscription] + [higher].compactMap(\.self) }

    static let game = Catalog(
        bundleID: "com.example.game",
        consumables: [
            CatalogProduct(
                id: "com.example.game.gems.60", kind: .consumable, name: "60 Gems", milliunits: 990, currency: "USD"),
            CatalogProduct(
                id: "com.example.game.gems.300", kind: .consumable, name: "300 颗宝石", milliunits: 30_000,
                currency: "CNY"),
            CatalogProduct(
                id: "com.example.game.gems.6480", kind: .consumable, name: "6480 Gems & a “Dragon”",
                milliunits: 99_990, currency: "USD"),
        ],
        nonConsumable: CatalogProduct(
            id: "com.example.game.noads", kind: .nonConsumable, name: "Remove Ads", milliunits: 2_990,
            currency: "USD"),
        subscription: CatalogProduct(
            id: "com.example.game.pass.weekly", kind: .autoRenewable, name: "每周通行证", milliunits: 12_000,
            currency: "CNY"))

    static let reader = Catalog(
        bundleID: "com.example.reader",
        consumables: [
            CatalogProduct(
                id: "com.example.reader.coins.100", kind: .consumable, name: "コイン100枚", milliunits: 160_000,
                currency: "JPY"),
            CatalogProduct(
                id: "com.example.reader.coins.500", kind: .consumable, name: "500 Coins", milliunits: 4_990,
                currency: "USD"),
        ],
        nonConsumable: CatalogProduct(
            id: "com.example.reader.full", kind: .nonConsumable, name: "完整版", milliunits: 68_000,
            currency: "CNY"),
        subscription: CatalogProduct(
            id: "com.example.reader.premium.weekly", kind: .autoRenewable, name: "Premium, weekly",
            milliunits: 1_990, currency: "USD"),
        higher: CatalogProduct(
            id: "com.example.reader.premium.monthly", kind: .autoRenewable, name: "Premium, monthly",
            milliunits: 5_990, currency: "USD", days: 30))

    static let cinema = Catalog(
        bundleID: "com.example.cinema",
        consumables: [
            CatalogProduct(
                id: "com.example.cinema.rental", kind: .consumable, name: "Film, one evening", milliunits: 3_990,
                currency: "USD")
        ],
        nonConsumable: CatalogProduct(
            id: "com.example.cinema.offline", kind: .nonConsumable, name: "Offline Films", milliunits: 9_990,
            currency: "USD"),
        subscription: CatalogProduct(
            id: "com.example.cinema.basic.monthly", kind: .autoRenewable, name: "Basic, monthly", milliunits: 7_990,
            currency: "USD", days: 30),
        higher: CatalogProduct(
            id: "com.example.cinema.plus.monthly", kind: .autoRenewable, name: "Plus, monthly", milliunits: 12_990,
            currency: "USD", days: 30))

    static let fitness = Catalog(
        bundleID: "com.example.fitness",
        consumables: [
            CatalogProduct(
                id: "com.example.fitness.plan", kind: .consumable, name: "训练计划", milliunits: 18_000,
                currency: "CNY")
        ],
        nonConsumable: CatalogProduct(
            id: "com.example.fitness.library", kind: .nonConsumable, name: "Exercise Library", milliunits: 29_990,
            currency: "USD"),
        subscription: CatalogProduct(
            id: "com.example.fitness.coach.weekly", kind: .autoRenewable, name: "Coach, weekly", milliunits: 2_990,
            currency: "USD"),
        higher: CatalogProduct(
            id: "com.example.fitness.coach.yearly", kind: .autoRenewable, name: "Coach, yearly",
            milliunits: 89_990, currency: "USD", days: 365))
}

extension Connection {
    /// Adds the products that the apps sell.
    func fillProducts(_ catalogs: [Catalog]) async throws(PostgreSQLError) {
        let rows = catalogs.flatMap { catalog in catalog.products.map { (catalog.bundleID, $0) } }
        _ = try await execute(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
            SELECT * FROM unnest(
                \(rows.map(\.0)), \(rows.map(\.1.id)), \(rows.map(\.1.kind.rawValue)), \(rows.map(\.1.name)),
                \(rows.map(\.1.milliunits)), \(rows.map(\.1.currency)))
            ON CONFLICT (bundle_id, product_id) DO UPDATE
            SET type = EXCLUDED.type, name = EXCLUDED.name, list_price_milliunits = EXCLUDED.list_price_milliunits,
                currency = EXCLUDED.currency
            """)
    }
}
