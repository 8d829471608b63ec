import AppStoreSimulator
import Foundation

/// What each scheme does if all goes well, and if the app's server is down.
extension Life {
    mutating func planOrdinary(by user: String, at moment: Date) {
        if random.happens(0.06) { return planLasting(by: user, at: moment) }
        let (number, product) = consumable(.ordinary, by: user, at: moment)
        plan(number, product, by: user, at: moment)
    }

    /// A non-consumable, one for each phone: a second one would be the same purchase.
    private mutating func planLasting(by user: String, at moment: Date) {
        let isOwned = events.purchases.contains { $0.transaction.productType == .nonConsumable }
        guard !isOwned else { return }
        let number = lasting(.ordinary, by: user, at: moment)
        deliver(
            number, orderFirst(catalog.nonConsumable, number, by: user, at: moment), by: user, at: moment + network())
    }

    mutating func lasting(_ mishap: Mishap, by user: String, at moment: Date) -> Number {
        let product = catalog.nonConsumable
        let transaction = SimulatedTransaction(
            id: nextID(), productID: product.id, productType: product.type, purchasedAt: moment, price: product.price)
        let number = purchase(transaction, mishap, by: user)
        plan(.pay(number), at: moment)
        return number
    }

    private mutating func plan(_ number: Number, _ product: CatalogProduct, by user: String, at moment: Date) {
        let order = orderFirst(product, number, by: user, at: moment)
        switch scheme {
        case .jkIAPHelp, .dyfStore: deliver(number, order, by: user, at: moment + network())
        case .applePayVC: planFinishedFirst(number, order, by: user, at: moment)
        case .kdIAPManager: planStoredFirst(number, order, by: user, at: moment)
        case .blIAP:
            let uploaded = moment + network()
            let order = self.order(product, by: user, for: number, at: uploaded + 1)
            deliver(number, order, by: user, at: uploaded)
        }
    }

    /// ApplePayVC: finishes at once, and afterwards hands in the receipt that it kept.
    private mutating func planFinishedFirst(_ number: Number, _ order: String?, by user: String, at moment: Date) {
        let uploaded = keepAndFinish(number, order, by: user, at: moment)
        plan(.deliver(number, to: user, order: order), at: uploaded + seconds(2...40))
    }

    mutating func keepAndFinish(_ number: Number, _ order: String?, by user: String, at moment: Date) -> Date {
        plan(.keep(slot: number), at: moment + 1)
        plan(.finish(number), at: moment + 2)
        let uploaded = moment + 2 + network()
        plan(.uploadKept(slot: number, by: user, for: number, order: order), at: uploaded)
        return uploaded
    }

    /// The one slot in which KDIAPManager keeps a receipt.
    var onlySlot: Int { -1 }

    /// KDIAPManager: the server stores the receipt first; if its verification timed out, a task verifies it later.
    private mutating func planStoredFirst(_ number: Number, _ order: String?, by user: String, at moment: Date) {
        plan(.finishDelivered, at: moment - 1)
        plan(.keep(slot: onlySlot), at: moment + 1)
        let uploaded = moment + 2 + network()
        plan(.uploadKept(slot: onlySlot, by: user, for: number, order: order), at: uploaded)
        let delivered = uploaded + (random.happens(0.1) ? seconds(1_800...20_000) : seconds(2...60))
        plan(.deliver(number, to: user, order: order), at: delivered)
        plan(.finishOnDelivery(number), at: delivered + 2)
    }

    /// The server could not be reached.
    mutating func planOutage(by user: String, at moment: Date) {
        let (number, product) = consumable(.outage, by: user, at: moment)
        let order = orderFirst(product, number, by: user, at: moment)
        let launch = launch(after: moment, within: 3_600...2 * 86_400)
        switch scheme {
        case .jkIAPHelp: deliver(number, order, by: user, at: launch)
        // Finished, tried once, and given up.
        case .applePayVC: plan(.finish(number), at: moment + 2)
        case .kdIAPManager:
            plan(.keep(slot: onlySlot), at: moment + 1)
            plan(.uploadKept(slot: onlySlot, by: user, for: number, order: order), at: launch)
            plan(.deliver(number, to: user, order: order), at: launch + seconds(2...60))
            plan(.finishOnDelivery(number), at: launch + 70)
        case .blIAP:
            deliver(number, self.order(product, by: user, for: number, at: launch + 1), by: user, at: launch)
        case .dyfStore:
            plan(.upload(by: user, for: nil, order: nil), at: launch + 20)
            plan(.deliver(number, to: user, order: nil), at: launch + 30)
            plan(.finishOnDelivery(number), at: launch + 40)
        }
    }
}
