import AppStoreSimulator
import Foundation

/// A delivery of something that nobody paid for as it was delivered: the app's server believed a client.
struct ForgedDelivery: Sendable {
    enum Kind: CaseIterable {
        /// The id is made up.
        case madeUp
        /// A tester's purchase.
        case sandbox
        /// A cheaper product was paid for than the client said.
        case otherProduct
    }

    let kind: Kind
    let claim: WorldClaim
}

extension WorldEvents {
    /// Makes some clients tell the app's server of purchases that were not made like that, and it believes them. They
    /// are drawn from each purchase's own numbers, so everything else is as it is without them.
    mutating func forgeDeliveries(_ settings: WorldSettings, catalog: Catalog) {
        guard let dearest = catalog.consumables.last, let cheapest = catalog.consumables.first else { return }
        for claim in claims where claim.kind == .delivered && claim.transaction.productType == .consumable {
            var random = SeededRandom(
                seed: settings.seed, part: "forgery", number: StableHash.of(claim.transaction.id.utf8))
            guard random.happens(0.01) else { continue }
            let kinds = ForgedDelivery.Kind.allCases.filter { $0 != .otherProduct || dearest.id != cheapest.id }
            let kind = random.pick(kinds)
            let transaction = SimulatedTransaction(
                id: "8" + claim.transaction.id.dropFirst(), productID: dearest.id, purchasedAt: claim.at)
            switch kind {
            case .madeUp: break
            case .sandbox:
                stored.append(
                    StoredPurchase(
                        transaction, bundleID: claim.bundleID, environment: .sandbox, account: "tester \(claim.userID)")
                )
            case .otherProduct:
                let paid = SimulatedTransaction(
                    id: transaction.id, productID: cheapest.id, purchasedAt: transaction.purchasedAt)
                stored.append(StoredPurchase(paid, bundleID: claim.bundleID, account: "forger \(claim.userID)"))
            }
            forged.append(
                ForgedDelivery(
                    kind: kind,
                    claim: WorldClaim(
                        bundleID: claim.bundleID, transaction: transaction, userID: claim.userID, orderID: nil,
                        upload: claim.upload, at: claim.at, kind: .delivered)))
        }
    }
}

/// Forged deliveries compared with what the job says of them.
public struct ForgeryTally: Sendable {
    /// Those that were old enough to ask about, and to ask again if Apple did not answer the first time.
    public private(set) var all = 0
    public private(set) var named = 0
    /// A sentence for each that was not named, and for each that was named, but is genuine and was not refunded before.
    public private(set) var faults: [String] = []

    /// - Parameter unproved: the deliveries that the job calls unproved in the end.
    init(_ world: World, unproved: Set<String>) {
        let settings = world.settings
        let forged = world.events.forged
        for delivery in forged where delivery.claim.at + 2 * 86_400 < settings.end {
            all += 1
            let id = delivery.claim.transaction.id
            if unproved.contains(id) {
                named += 1
            } else {
                faults.append("forged and not named: \(id), \(delivery.kind)")
            }
        }
        // Apple may have refunded some of the redeliveries since the night.
        let refunded = world.events.purchases.filter { purchase in
            purchase.deliveredAt.map { $0 > purchase.refundedAt ?? .distantFuture } ?? false
        }
        let known = Set(forged.map(\.claim.transaction.id) + refunded.map(\.transactionID))
        faults += unproved.subtracting(known).sorted().map { "called unproved, and genuine: \($0)" }
    }
}
