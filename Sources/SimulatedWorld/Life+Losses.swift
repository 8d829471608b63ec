import AppStoreSimulator
import Foundation

/// The ways in which a purchase is lost, for good or for some days.
extension Life {
    /// S01: a later receipt of this phone brings it, otherwise a launch some days later, otherwise nothing.
    mutating func planNoCallback(by user: String, at moment: Date) {
        _ = ordered(.noCallback, by: user, at: moment)
        if sibling != nil || random.happens(0.6) { planReturn(of: user, after: moment) }
    }

    /// On a shared phone, and on many others, the payer's next launch hands the receipt in.
    private mutating func planReturn(of user: String, after moment: Date) {
        plan(.upload(by: user, for: nil, order: nil), at: launch(after: moment, within: 30_000...4 * 86_400) + 20)
    }

    mutating func planReceivedLater(by user: String, at moment: Date) {
        let (number, order) = ordered(.receivedLater, by: user, at: moment)
        plan(
            .upload(by: user, for: number, order: order), at: launch(after: moment, within: 70_000...100_000))
    }

    mutating func planNameLost(by user: String, at moment: Date) {
        let (number, _) = ordered(.nameLost, by: user, at: moment)
        plan(.upload(by: user, for: number, order: nil), at: moment + network())
    }

    mutating func planSeveralOrders(by user: String, at moment: Date) {
        let (number, product) = consumable(.severalOrders, by: user, at: moment)
        order(product, by: user, at: moment - seconds(3_000...4_000))
        order(product, by: user, at: moment - seconds(1_000...2_900))
        _ = orderFirst(product, number, by: user, at: moment)
        plan(.upload(by: user, for: number, order: nil), at: moment + network())
    }

    mutating func planReinstalled(by user: String, at moment: Date) {
        _ = ordered(.reinstalled, by: user, at: moment)
        plan(
            .upload(by: user, for: nil, order: nil), at: launch(after: moment, within: 86_400...4 * 86_400) + 20)
    }

    mutating func planFinishedUndelivered(by user: String, at moment: Date) {
        let (number, order) = ordered(.finishedUndelivered, by: user, at: moment)
        let uploaded = keepAndFinish(number, order, by: user, at: moment)
        plan(.upload(by: user, for: nil, order: nil), at: launch(after: uploaded, within: 50_000...100_000) + 20)
    }

    /// S09: finished before the next purchase, whose receipt takes the only slot.
    mutating func planOverwritten(by user: String, at moment: Date) {
        let (number, _) = ordered(.overwritten, by: user, at: moment)
        plan(.keep(slot: onlySlot), at: moment + 1)
        let next = moment + seconds(300...9_000)
        plan(.finish(number), at: next - 1)
        planOrdinary(by: user, at: next)
    }

    /// S11: the other user hands it in; the order, if there is one, is the payer's, who returns within days.
    mutating func planSharedPhone(payer: String, at moment: Date) {
        guard let sibling else { return planReceivedLater(by: payer, at: moment) }
        let other = payer == sibling ? customer.userID : sibling
        let (number, order) = ordered(.sharedPhone, by: payer, at: moment)
        plan(.upload(by: other, for: number, order: order), at: moment + seconds(1_800...9_000))
        planReturn(of: payer, after: moment)
    }

    /// S11: the other user is logged in when the callback fires, and so gets the goods.
    mutating func planMisdelivered(payer: String, at moment: Date) {
        guard let sibling else { return planOrdinary(by: payer, at: moment) }
        let other = payer == sibling ? customer.userID : sibling
        let (number, product) = consumable(.misdelivered, by: payer, at: moment)
        let uploaded = moment + seconds(600...3_000)
        deliver(number, order(product, by: other, at: uploaded + 1), by: other, at: uploaded)
    }

    /// S12: three in one receipt, and the server handles only the one that was named.
    mutating func planOneOfThree(by user: String, at moment: Date) {
        var bought: [(number: Number, order: String?)] = []
        for hour in 0..<3 { bought.append(ordered(.oneOfThree, by: user, at: moment + Double(hour) * 3_000)) }
        deliver(bought[1].number, bought[1].order, by: user, at: moment + 7_000)
    }

    /// S16: one genuine receipt, which four strangers hand in, too.
    mutating func planPassedAround(by user: String, isDelivered: Bool, at moment: Date) {
        let (number, order) = ordered(isDelivered ? .passedAroundDelivered : .passedAround, by: user, at: moment)
        plan(.keep(slot: number), at: moment + 1)
        plan(.uploadKept(slot: number, by: user, for: number, order: order), at: moment + 3)
        if isDelivered { plan(.deliver(number, to: user, order: order), at: moment + 30) }
        for stranger in 1...4 {
            let thief = "u\(60_000_000 + customer.number * 10 + stranger)"
            let moment = moment + seconds(3_600...3 * 86_400)
            plan(.uploadKept(slot: number, by: thief, for: number, order: nil), at: moment)
            if isDelivered { plan(.claimAgain(number, by: thief), at: moment + 10) }
        }
    }

    /// S07: handed in before StoreKit had written the purchase down; for some, the next launch brings it.
    mutating func planEmptyReceipt(by user: String, at moment: Date) {
        let (number, order) = ordered(.emptyReceipt, by: user, at: moment)
        let early = SimulatedReceipt(
            bundleID: catalog.bundleID, account: customer.account, createdAt: moment, transactions: [])
        plan(.uploadOther(.receipt(early), by: user, transactionID: transaction(number).id), at: moment + 1)
        guard random.happens(0.7) else { return }
        plan(.upload(by: user, for: number, order: order), at: launch(after: moment, within: 30_000...3 * 86_400))
    }

    /// S24 and S25: the proof of one purchase; for some, its claim never comes.
    mutating func planProof(_ style: SimulatedReceipt.Style, _ mishap: Mishap, by user: String, at moment: Date) {
        let (number, order) = ordered(mishap, by: user, at: moment)
        plan(.uploadAlone(number, style, by: user, order: order), at: moment + network())
        guard random.happens(0.4) else { return }
        plan(.deliver(number, to: user, order: order), at: moment + 2_500)
        plan(.finishOnDelivery(number), at: moment + 2_510)
    }

    /// S28: cheap abroad, and finished at once.
    mutating func planForeignStorefront(by user: String, at moment: Date) {
        let product = random.pick(catalog.consumables)
        let number = consumable(
            product, .foreignStorefront, by: user, at: moment,
            price: SimulatedTransaction.Price(milliunits: 4_990, currency: "TRY"))
        let order = orderFirst(product, number, by: user, at: moment)
        plan(.uploadAlone(number, .signedTransaction, by: user, order: order), at: moment + 2)
        plan(.finish(number), at: moment + 3)
    }

    mutating func planTwentyCopies(by user: String, at moment: Date) {
        let (number, order) = ordered(.twentyCopies, by: user, at: moment)
        plan(.keep(slot: number), at: moment + 1)
        for copy in 1...20 {
            plan(.uploadKept(slot: number, by: user, for: number, order: order), at: moment + Double(copy) * 600)
        }
    }

    /// S22: the claim's transaction fails halfway; for some, the client's retry succeeds the next day.
    mutating func planRolledBack(by user: String, at moment: Date) {
        let (number, order) = ordered(.rolledBack, by: user, at: moment)
        plan(.upload(by: user, for: number, order: order), at: moment + 3)
        plan(.rollBack(number, of: user, order: order), at: moment + 10)
        guard random.happens(0.4) else { return }
        deliver(number, order, by: user, at: launch(after: moment, within: 40_000...100_000))
    }

    mutating func planClaimedLate(by user: String, at moment: Date) {
        let (number, order) = ordered(.claimedLate, by: user, at: moment)
        plan(.upload(by: user, for: number, order: order), at: moment + network())
        deliver(number, order, by: user, at: launch(after: moment, within: 86_400...9 * 86_400))
    }

    /// The order is opened after the payment, and again, since the answer did not come; some get the goods.
    mutating func planOrdersAfterwards(by user: String, at moment: Date) {
        let (number, product) = consumable(.ordersAfterwards, by: user, at: moment)
        plan(.upload(by: user, for: number, order: nil), at: moment + 3)
        order(product, by: user, at: moment + 10)
        order(product, by: user, at: moment + 40)
        let last = order(product, by: user, for: number, at: moment + 100)
        guard random.happens(0.5) else { return }
        plan(.deliver(number, to: user, order: last), at: moment + 110)
        plan(.finishOnDelivery(number), at: moment + 115)
    }
}
