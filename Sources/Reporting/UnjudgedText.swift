import Foundation
import Reconciliation

/// A line that says what is paid but not looked at, why, and what to do.
struct UnjudgedText: Sentence {
    let phrase: Phrase
    let values: [String: String]

    /// - Parameter money: formats a sum for the reader.
    init(_ unjudged: Unjudged, _ words: any Wording, money: (Money) -> String) {
        phrase =
            switch unjudged.cause {
            case .notConnected: .notConnected
            case .beforeConnected: .beforeConnected
            case .ignored: .ignored
            }
        let isSubscription = unjudged.productType == .autoRenewable
        let type = unjudged.productType ?? .consumable
        let unpriced = unjudged.unpriced > 0 ? [words(.unpriced, ["n": String(unjudged.unpriced)])] : []
        let sums = unjudged.money.map(money) + unpriced
        values = [
            "app": unjudged.bundleID.text, "type": words(Self.name(of: unjudged.productType)),
            "n": String(unjudged.transactions), "customers": String(unjudged.customers),
            "money": sums.isEmpty ? words(.none) : sums.joined(separator: ", "),
            "calls": isSubscription ? "iap.entitle, iap.claim" : "iap.claim",
            "key": unjudged.cause == .ignored
                ? type.rawValue : "\(type.rawValue) = \(isSubscription ? "entitlement | claim" : "claim") | ignore",
        ]
    }

    private static func name(of type: ProductType?) -> Phrase {
        switch type {
        case .consumable: .consumable
        case .nonConsumable: .nonConsumable
        case .autoRenewable: .autoRenewable
        case .nonRenewing: .nonRenewing
        case nil: .unknownType
        }
    }
}
