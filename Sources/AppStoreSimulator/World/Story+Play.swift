import Foundation

extension Story {
    /// Tells the whole story.
    mutating func play() {
        scenario = Scenario.of(
            customer: customer.number, hasSignedTransactions: settings.hasSignedTransactions, rarity: settings.rarity)
        switch scenario {
        case .ordinary: playOrdinary()
        case .rodeAlong: playRodeAlong()
        case .neverClaimed: playNeverClaimed()
        case .finishedUndelivered: playFinishedUndelivered()
        case .twoUsers: playTwoUsers()
        case .oneOfThreeClaimed: playOneOfThreeClaimed()
        case .manyUploaders: playManyUploaders()
        case .missedRenewal: playSubscription(missing: true)
        case .twentyCopies: playTwentyCopies()
        case .rolledBack: playRolledBack()
        case .oldReceipt: playOldReceipt()
        case .overwrittenReceipt: playOverwrittenReceipt()
        case .signedTransaction: playSignedTransaction()
        case .refundedTomorrow: playRefundedTomorrow()
        case .unreadable: playUnreadable()
        case .noTransactions: playNoTransactions()
        case .deliveredUnfinished: playDeliveredUnfinished()
        case .sandboxReceipt: playSandboxReceipt()
        case .foreignBundle: playForeignBundle()
        case .refundedBefore: playRefundedBefore()
        case .refundedAfter: playRefundedAfter()
        case .restored: playRestored()
        case .pending: playPending()
        case .familyShared: playFamilyShared()
        case .accountGone: playAccountGone()
        }
    }

    /// One to four purchases that go as they should, or a subscription.
    private mutating func playOrdinary() {
        guard !random.happens(0.1) else { return playSubscription(missing: false) }
        let moments = (0..<Int(1 + random.next() % 4)).map { _ in moment(leaving: 7_200) }.sorted()
        var ownsAll = false
        for moment in moments {
            let isLasting = !ownsAll && random.happens(0.15)
            ownsAll = ownsAll || isLasting
            receive(isLasting ? catalog.nonConsumable : random.pick(catalog.consumables), at: moment)
        }
    }

    /// A subscription whose periods the app's server grants as they begin, all or all but the second (S19). Only
    /// the first is in the receipt that was uploaded: of the others Apple tells.
    mutating func playSubscription(missing: Bool) {
        let begin = now.addingTimeInterval(-(15 + 20 * Mix.share(random.next())).rounded(.down) * Self.day - 40_000)
        let renews = missing || random.happens(0.7)
        let subscription = subscribe(at: begin, weeks: renews ? 10 : 2, renews: renews)
        guard let first = subscription.periods.first else { return }
        let upload = upload(receipt(at: begin.addingTimeInterval(2)), for: first, at: begin.addingTimeInterval(3))
        for (number, period) in subscription.periods.enumerated() {
            let granted = period.purchasedAt.addingTimeInterval(300)
            guard granted <= now, !(missing && number == 1) else { continue }
            deliver(period, from: upload, at: granted)
        }
    }
}
