/// What kind of product was bought, by Apple's four kinds.
public enum ProductType: String, Hashable, Sendable, Codable, CaseIterable {
    case consumable
    case nonConsumable = "non_consumable"
    case autoRenewable = "auto_renewable"
    case nonRenewing = "non_renewing"
}

/// A product that an app sells, as the table `products` lists it.
public struct Product: Hashable, Sendable {
    public let id: ProductID
    public let type: ProductType
    public let name: String
    public let listPrice: Money?

    public init(id: ProductID, type: ProductType, name: String, listPrice: Money?) {
        self.id = id
        self.type = type
        self.name = name
        self.listPrice = listPrice
    }
}
