import AppStoreSimulator
import Foundation

/// What only looks like a loss, or is put right by Apple.
extension Life {
    /// S13: delivered, and in every later receipt.
    mutating func planDeliveredUnfinished(by user: String, at moment: Date) {
        let (number, order) = ordered(.deliveredUnfinished, by: user, at: moment)
        plan(.upload(by: user, for: number, order: order), at: moment + 3)
        plan(.deliver(number, to: user, order: order), at: moment + 10)
        plan(.upload(by: user, for: nil, order: nil), at: launch(after: moment, within: 80_000...200_000))
    }

    /// S23: a request that came twice, and was answered by two of the app's servers.
    mutating func planTwoServers(by user: String, at moment: Date) {
        let (number, order) = ordered(.twoServers, by: user, at: moment)
        plan(.upload(by: user, for: number, order: order), at: moment + 3)
        plan(.deliver(number, to: user, order: order), at: moment + 10)
        plan(.claimAgain(number, by: user), at: moment + 10)
        plan(.finishOnDelivery(number), at: moment + 15)
    }

    /// S17: handed in, not delivered, and refunded.
    mutating func planRefunded(by user: String, after range: ClosedRange<Double>, _ mishap: Mishap, at moment: Date) {
        let (number, order) = ordered(mishap, by: user, at: moment)
        plan(.upload(by: user, for: number, order: order), at: moment + network())
        plan(.refund(number), at: moment + 3_000 + seconds(range))
    }

    mutating func planRefundedAfter(by user: String, at moment: Date) {
        let (number, order) = ordered(.refundedAfter, by: user, at: moment)
        deliver(number, order, by: user, at: moment + 3)
        plan(.refund(number), at: moment + seconds(20_000...6 * 86_400))
    }

    /// S18: delivered once, and restored on a new device under another transaction id.
    mutating func planRestored(by user: String, at moment: Date) {
        guard !events.purchases.contains(where: { $0.transaction.productType == .nonConsumable }) else { return }
        // Of two unclaimed ids, the one that is recorded first stays white, so no ledger could be predicted.
        guard isTold(.nonConsumable, at: moment) else { return planOrdinary(by: user, at: moment) }
        let number = lasting(.restored, by: user, at: moment)
        deliver(number, orderFirst(catalog.nonConsumable, number, by: user, at: moment), by: user, at: moment + 3)
        let later = moment + seconds(50_000...6 * 86_400)
        let original = transaction(number)
        let restored = SimulatedTransaction(
            id: nextID(), originalID: original.id, productID: original.productID, productType: original.productType,
            purchasedAt: later, originalPurchasedAt: original.purchasedAt, price: original.price)
        let restoredNumber = purchase(restored, .restored, by: user, isOwed: false)
        plan(.restore(number, restored), at: later)
        plan(.upload(by: user, for: restoredNumber, order: nil), at: later + 3)
    }

    /// S21: bought shortly before a night, and delivered after it.
    mutating func planPending(by user: String, at moment: Date) {
        let night = settings.moment(ofNight: settings.nightRun(from: moment))
        let (number, order) = ordered(.pending, by: user, at: night - seconds(300...3_000))
        plan(.upload(by: user, for: number, order: order), at: night - 250)
        deliver(number, order, by: user, at: night + seconds(300...20_000))
    }

    /// S26: somebody else in the family paid.
    mutating func planFamilyShared(by user: String, at moment: Date) {
        guard !events.purchases.contains(where: { $0.transaction.productType == .nonConsumable }) else { return }
        let shared = SimulatedTransaction(
            id: nextID(), productID: catalog.nonConsumable.id, productType: .nonConsumable, purchasedAt: moment,
            isFamilyShared: true)
        _ = purchase(shared, .familyShared, by: user, isOwed: false)
        plan(.hold(shared), at: moment)
        plan(.upload(by: user, for: nil, order: nil), at: moment + 20)
    }

    /// S14: a tester's purchase.
    mutating func planSandbox(by user: String, at moment: Date) {
        planOther(.sandbox, by: user, at: moment) { receipt in
            receipt.environment = .sandbox
        }
    }

    /// S15: the receipt of another app.
    mutating func planForeignBundle(by user: String, at moment: Date) {
        planOther(.foreignBundle, by: user, at: moment) { receipt in
            receipt.bundleID = "com.example.puzzle"
        }
    }

    /// Paid from another Apple account, which is gone.
    mutating func planAccountGone(by user: String, at moment: Date) {
        planOther(.accountGone, by: user, at: moment) { receipt in
            receipt.account += "-gone"
        }
        deleteAccount("\(customer.account)-gone")
    }

    private mutating func planOther(
        _ mishap: Mishap, by user: String, at moment: Date, _ change: (inout SimulatedReceipt) -> Void
    ) {
        let transaction = SimulatedTransaction(
            id: nextID(), productID: random.pick(catalog.consumables).id, purchasedAt: moment)
        _ = purchase(transaction, mishap, by: user, isOwed: false)
        var receipt = SimulatedReceipt(
            bundleID: catalog.bundleID, account: customer.account, createdAt: moment + 2, transactions: [transaction])
        change(&receipt)
        store(
            StoredPurchase(
                transaction, bundleID: receipt.bundleID, environment: receipt.environment, account: receipt.account))
        plan(.uploadOther(.receipt(receipt), by: user, transactionID: transaction.id), at: moment + 5)
    }

    /// S06: an empty upload, a garbled one, or a forged one.
    mutating func planUnreadable(by user: String, at moment: Date) {
        let forged = SimulatedReceipt(
            bundleID: catalog.bundleID, account: customer.account, createdAt: moment, transactions: [])
        let contents: [Upload.Content] = [
            .text(""), .text("bm90IGEgcmVjZWlwdA=="), .text("<null>"), .forgery(forged),
        ]
        plan(.uploadOther(random.pick(contents), by: user, transactionID: nil), at: moment + 3)
    }
}
