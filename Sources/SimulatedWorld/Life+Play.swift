import AppStoreSimulator
import Foundation

extension Life {
    /// Plans this life and lets it take place.
    mutating func play() {
        planSubscriber()
        for moment in moments() { planPurchase(at: moment) }
        if customer.number % 60 == 40 {
            planAccountGone(by: customer.userID, at: settings.begin + seconds(60...80_000))
        }
        takePlace()
    }

    /// The moments of purchases: some customers buy once a month, some every other day.
    private mutating func moments() -> [Date] {
        let perDay = random.pick([0.03, 0.05, 0.1, 0.1, 0.2, 0.4])
        let count = Int((Double(settings.nights) * perDay * (0.5 + Mix.share(random.next()))).rounded(.up))
        let span = Double(settings.nights) * WorldSettings.day
        return (0..<count).map { _ in settings.begin.addingTimeInterval(60 + seconds(0...span - 120)) }.sorted()
    }

    private mutating func planPurchase(at moment: Date) {
        let user = sibling.flatMap { random.happens(0.4) ? $0 : nil } ?? customer.userID
        let mishap = random.happens(settings.mishapShare) ? random.pick(scheme.mishaps) : .ordinary
        plan(outages.contains { $0.contains(moment) } && mishap == .ordinary ? .outage : mishap, by: user, at: moment)
    }

    mutating func plan(_ mishap: Mishap, by user: String, at moment: Date) {
        switch mishap {
        case .ordinary: planOrdinary(by: user, at: moment)
        case .outage: planOutage(by: user, at: moment)
        case .noCallback: planNoCallback(by: user, at: moment)
        case .receivedLater: planReceivedLater(by: user, at: moment)
        case .nameLost: planNameLost(by: user, at: moment)
        case .severalOrders: planSeveralOrders(by: user, at: moment)
        case .reinstalled: planReinstalled(by: user, at: moment)
        case .finishedUndelivered: planFinishedUndelivered(by: user, at: moment)
        case .overwritten: planOverwritten(by: user, at: moment)
        case .sharedPhone: planSharedPhone(payer: user, at: moment)
        case .misdelivered: planMisdelivered(payer: user, at: moment)
        case .oneOfThree: planOneOfThree(by: user, at: moment)
        case .passedAround: planPassedAround(by: user, isDelivered: false, at: moment)
        case .passedAroundDelivered: planPassedAround(by: user, isDelivered: true, at: moment)
        case .twentyCopies: planTwentyCopies(by: user, at: moment)
        case .rolledBack: planRolledBack(by: user, at: moment)
        case .claimedLate: planClaimedLate(by: user, at: moment)
        case .ordersAfterwards: planOrdersAfterwards(by: user, at: moment)
        case .deliveredUnfinished: planDeliveredUnfinished(by: user, at: moment)
        case .refundedBefore: planRefunded(by: user, after: 600...40_000, mishap, at: moment)
        case .refundedLate: planRefunded(by: user, after: 3 * 86_400...9 * 86_400, mishap, at: moment)
        case .refundedAfter: planRefundedAfter(by: user, at: moment)
        case .restored: planRestored(by: user, at: moment)
        case .pending: planPending(by: user, at: moment)
        case .familyShared: planFamilyShared(by: user, at: moment)
        case .emptyReceipt: planEmptyReceipt(by: user, at: moment)
        case .twoServers: planTwoServers(by: user, at: moment)
        case .oldReceipt: planProof(.transactionReceipt, mishap, by: user, at: moment)
        case .signedTransaction: planProof(.signedTransaction, mishap, by: user, at: moment)
        case .foreignStorefront: planForeignStorefront(by: user, at: moment)
        case .sandbox: planSandbox(by: user, at: moment)
        case .foreignBundle: planForeignBundle(by: user, at: moment)
        case .accountGone: planAccountGone(by: user, at: moment)
        case .unreadable: planUnreadable(by: user, at: moment)
        case .missedRenewal, .renewed, .forgottenRenewal, .lastPeriodLacking, .trial, .introductoryOffer, .upgraded,
            .crossgraded, .billingRetry, .billingGrace, .refundedPeriod, .familySubscription:
            planSubscription(mishap, by: user, at: moment)
        }
    }

    // MARK: Steps that many plans share

    /// Makes a consumable that is paid for at the moment.
    mutating func consumable(_ mishap: Mishap, by user: String, at moment: Date) -> (Number, CatalogProduct) {
        let product = random.pick(catalog.consumables)
        return (consumable(product, mishap, by: user, at: moment), product)
    }

    /// Makes this consumable, paid for at the moment.
    ///
    /// - Parameter price: the price that was paid, if it isn't the list price.
    mutating func consumable(
        _ product: CatalogProduct, _ mishap: Mishap, by user: String, at moment: Date,
        price: SimulatedTransaction.Price? = nil
    ) -> Number {
        let transaction = SimulatedTransaction(
            id: nextID(), productID: product.id, productType: product.type, quantity: random.happens(0.05) ? 2 : 1,
            purchasedAt: moment, price: price ?? product.price)
        let number = purchase(transaction, mishap, by: user)
        plan(.pay(number), at: moment)
        return number
    }

    /// Opens the order, if the scheme opens one before the payment.
    mutating func orderFirst(_ product: CatalogProduct, _ number: Number, by user: String, at moment: Date) -> String? {
        guard scheme.ordersFirst else { return nil }
        return order(product, by: user, for: number, at: moment - seconds(5...90))
    }

    /// Makes a consumable with the order that its scheme opens first.
    mutating func ordered(_ mishap: Mishap, by user: String, at moment: Date) -> (number: Number, order: String?) {
        let (number, product) = consumable(mishap, by: user, at: moment)
        return (number, orderFirst(product, number, by: user, at: moment))
    }

    /// The time that the network takes: seconds, now and then many minutes.
    mutating func network() -> Double {
        random.happens(0.03) ? seconds(60...2_400) : seconds(1...20)
    }

    /// The next launch at which the client can reach the server again.
    mutating func launch(after moment: Date, within range: ClosedRange<Double>) -> Date {
        var launch = moment + seconds(range)
        while let outage = outages.first(where: { $0.contains(launch) }) {
            launch = outage.upperBound + seconds(1...9_000)
        }
        return launch
    }

    /// Hands in the receipt for the purchase; the server delivers, and the client finishes.
    mutating func deliver(_ number: Number, _ order: String?, by user: String, at moment: Date) {
        plan(.upload(by: user, for: number, order: order), at: moment)
        let delivered = moment + seconds(2...40)
        plan(.deliver(number, to: user, order: order), at: delivered)
        if transaction(number).productType == .consumable {
            plan(.finishOnDelivery(number), at: delivered + seconds(1...5))
        }
    }
}
