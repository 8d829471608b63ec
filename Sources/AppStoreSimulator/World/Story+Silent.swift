import Foundation

/// What only looks like a loss, or can't be told to be one.
extension Story {
    /// S06: an empty upload, a garbled one, or a forged one.
    mutating func playUnreadable() {
        let moment = moment(leaving: 3_600)
        let contents: [Upload.Content] = [
            .text(""), .text("bm90IGEgcmVjZWlwdA=="), .text("<null>"), .forgery(receipt(at: moment)),
        ]
        upload(unreadable: random.pick(contents), at: moment)
    }

    /// S07: StoreKit had not recorded the transaction yet.
    mutating func playNoTransactions() {
        let moment = moment(leaving: 3_600)
        upload(receipt(at: moment), at: moment.addingTimeInterval(20))
    }

    /// S13: delivered, and never finished by the client, so that every later receipt holds it.
    mutating func playDeliveredUnfinished() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = receive(random.pick(catalog.consumables), at: moment)
        hold(transaction)
        receive(random.pick(catalog.consumables), at: moment.addingTimeInterval(Self.day))
    }

    /// S14: a tester's purchase.
    mutating func playSandboxReceipt() {
        let moment = moment(leaving: 7_200)
        let transaction = SimulatedTransaction(
            id: "2000000\(nextID().prefix(15).suffix(9))", productID: random.pick(catalog.consumables).id,
            purchasedAt: moment)
        var receipt = receipt(at: moment.addingTimeInterval(2))
        store(transaction, environment: .sandbox)
        receipt.environment = .sandbox
        receipt.transactions = [transaction]
        upload(receipt, for: transaction, at: moment.addingTimeInterval(3))
    }

    /// S15: the receipt of another app.
    mutating func playForeignBundle() {
        let moment = moment(leaving: 7_200)
        var receipt = receipt(at: moment.addingTimeInterval(2))
        receipt.bundleID = "com.example.puzzle"
        receipt.transactions = [
            SimulatedTransaction(id: nextID(), productID: "com.example.puzzle.hints", purchasedAt: moment)
        ]
        store(receipt.transactions[0], bundleID: receipt.bundleID)
        upload(receipt, for: receipt.transactions[0], at: moment.addingTimeInterval(3))
    }

    /// S17: refunded before anybody claimed it.
    mutating func playRefundedBefore() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        upload(receipt(at: moment.addingTimeInterval(2)), for: transaction, at: moment.addingTimeInterval(3))
        refund(transaction, at: moment.addingTimeInterval(Self.day))
    }

    /// S17: refunded after it was delivered.
    mutating func playRefundedAfter() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = receive(random.pick(catalog.consumables), at: moment)
        refund(transaction, at: moment.addingTimeInterval(Self.day))
    }

    /// S18: a non-consumable was delivered, and is restored on a new device.
    mutating func playRestored() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = receive(catalog.nonConsumable, at: moment)
        let later = moment.addingTimeInterval(Self.day)
        let restored = restore(transaction, at: later)
        upload(receipt(at: later.addingTimeInterval(2)), for: restored, at: later.addingTimeInterval(3))
    }

    /// S21: bought ten minutes ago; the client is still working on it.
    mutating func playPending() {
        let moment = now.addingTimeInterval(-600)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        upload(receipt(at: moment.addingTimeInterval(2)), for: transaction, at: moment.addingTimeInterval(3))
    }

    /// S26: somebody else in the family paid.
    mutating func playFamilyShared() {
        let moment = moment(leaving: 7_200)
        hold(
            SimulatedTransaction(
                id: nextID(), productID: catalog.nonConsumable.id, productType: .nonConsumable, purchasedAt: moment,
                isFamilyShared: true))
        upload(receipt(at: moment.addingTimeInterval(2)), at: moment.addingTimeInterval(20))
    }

    /// Paid, handed in, and the Apple account deleted since: not owed by Apple's word.
    mutating func playAccountGone() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        upload(receipt(at: moment.addingTimeInterval(2)), for: transaction, at: moment.addingTimeInterval(3))
        deleteAccount()
    }
}
