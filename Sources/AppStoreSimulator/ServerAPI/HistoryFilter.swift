import Foundation

/// The choice of a customer's transactions in a request.
struct HistoryFilter {
    private let dates: ClosedRange<Date>
    private let productIDs: Set<String>
    private let types: Set<SimulatedTransaction.ProductType>
    private let isFamilyShared: Bool?
    private let isRevoked: Bool?

    init(_ request: ServerAPIRequest) throws(ServerAPIError) {
        let start = try Self.date(request.first("startDate"), or: .distantPast, .invalidStartDate)
        let end = try Self.date(request.first("endDate"), or: .distantFuture, .invalidEndDate)
        guard start <= end else { throw .startDateAfterEndDate }
        dates = start...end
        productIDs = Set(request.all("productId"))
        var types: Set<SimulatedTransaction.ProductType> = []
        for name in request.all("productType") { types.insert(try Self.type(name)) }
        self.types = types
        isFamilyShared = try Self.choice(
            request.first("inAppOwnershipType"), true: "FAMILY_SHARED", false: "PURCHASED", .invalidOwnershipType)
        isRevoked = try Self.choice(request.first("revoked"), true: "true", false: "false", .invalidRevoked)
    }

    func admits(_ known: ServerAPI.Known) -> Bool {
        let transaction = known.transaction
        return dates.contains(transaction.purchasedAt)
            && (productIDs.isEmpty || productIDs.contains(transaction.productID))
            && (types.isEmpty || types.contains(transaction.productType))
            && (isFamilyShared ?? transaction.isFamilyShared) == transaction.isFamilyShared
            && (isRevoked ?? (known.refund != nil)) == (known.refund != nil)
    }

    /// A parameter in UNIX milliseconds.
    private static func date(
        _ text: String?, or other: Date, _ error: ServerAPIError
    ) throws(ServerAPIError) -> Date {
        guard let text else { return other }
        guard let milliseconds = Int64(text), milliseconds >= 0 else { throw error }
        return Date(unixMilliseconds: milliseconds)
    }

    private static func type(_ name: String) throws(ServerAPIError) -> SimulatedTransaction.ProductType {
        switch name {
        case "AUTO_RENEWABLE": .autoRenewable
        case "NON_RENEWABLE": .nonRenewing
        case "CONSUMABLE": .consumable
        case "NON_CONSUMABLE": .nonConsumable
        default: throw .invalidProductType
        }
    }

    private static func choice(
        _ text: String?, true yes: String, false no: String, _ error: ServerAPIError
    ) throws(ServerAPIError) -> Bool? {
        guard let text else { return nil }
        guard text == yes || text == no else { throw error }
        return text == yes
    }
}
