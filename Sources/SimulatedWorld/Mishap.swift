import AppStoreSimulator

/// What happens to a purchase of a world, with the names of the scenarios.
public enum Mishap: String, Sendable, CaseIterable {
    case ordinary
    /// The callback never fired.
    case noCallback = "S01"
    /// The receipt came the next day, but never a claim.
    case receivedLater = "S02"
    /// The order's id was lost on the device.
    case nameLost = "S03"
    /// Of three orders one was paid, and its id was lost.
    case severalOrders = "S04"
    /// The app was deleted; after reinstalling, a launch upload brings the receipt.
    case reinstalled = "S05"
    /// An upload that is no receipt.
    case unreadable = "S06"
    /// The first receipt is too early to hold the purchase.
    case emptyReceipt = "S07"
    /// The client finished before the server delivered.
    case finishedUndelivered = "S08"
    /// The kept receipt was overwritten by the next purchase's.
    case overwritten = "S09"
    /// One user pays, another hands the receipt in on the same phone.
    case sharedPhone = "S11"
    /// Like S11, but the other user gets the goods.
    case misdelivered = "S11 misdelivered"
    case oneOfThree = "S12"
    case deliveredUnfinished = "S13"
    case sandbox = "S14"
    case foreignBundle = "S15"
    /// A receipt that was passed around before it was claimed.
    case passedAround = "S16"
    /// A receipt that was passed around although it was claimed.
    case passedAroundDelivered = "S16 delivered"
    case refundedBefore = "S17 before"
    /// Refunded some nights after it was found.
    case refundedLate = "S17 late"
    case refundedAfter = "S17 after"
    case restored = "S18"
    /// The app's server missed one renewal of a subscription.
    case missedRenewal = "S19"
    case renewed = "S19 granted"
    /// The app's server forgot for two days to extend what it had granted.
    case forgottenRenewal = "S19 two days"
    /// The grants that the app's server named when it was connected lack the period that was paid last.
    case lastPeriodLacking = "S39"
    case trial
    case introductoryOffer = "introductory offer"
    /// The customer upgraded within the group, at once; or changed to another product at the end of the period.
    case upgraded = "upgrade"
    case crossgraded = "crossgrade"
    /// Apple could not charge for some days, in which the customer had no access; or had it by grace.
    case billingRetry = "billing retry"
    case billingGrace = "billing grace"
    /// A running period was refunded, and the app's server withdrew its access.
    case refundedPeriod = "S17 period"
    case familySubscription = "S26 subscription"
    case twentyCopies = "S20"
    /// Bought within the grace before a night, and claimed after it.
    case pending = "S21"
    case rolledBack = "S22"
    /// Two of the app's servers claim at the same moment.
    case twoServers = "S23"
    /// An old client hands in an iOS 6 style receipt.
    case oldReceipt = "S24"
    /// A client of StoreKit 2 hands in a signed transaction.
    case signedTransaction = "S25"
    case familyShared = "S26"
    /// The Apple account that paid was deleted later: Apple says so, and nothing is owed.
    case accountGone = "account gone"
    /// A signed transaction, paid in a country where the app isn't sold.
    case foreignStorefront = "S28"
    /// The client's retry succeeds some days later.
    case claimedLate = "late claim"
    /// The order was opened several times after the payment.
    case ordersAfterwards = "orders afterwards"
    /// The app's server was down at that moment; the rest depends on the scheme.
    case outage

    /// The mishaps of all schemes.
    static let common: [Mishap] = [
        .noCallback, .receivedLater, .rolledBack, .refundedBefore, .refundedLate, .refundedAfter, .restored,
        .pending, .familyShared, .sandbox, .foreignBundle, .unreadable, .sharedPhone, .passedAround,
        .passedAroundDelivered, .emptyReceipt, .twoServers, .oldReceipt, .signedTransaction, .foreignStorefront,
    ]

    /// The mishaps of subscriptions, by how the app's server lets the job see its deliveries of them; common ones are
    /// listed more than once.
    static func ofSubscriptions(_ delivery: DeliveryWay) -> [Mishap] {
        switch delivery {
        case .claims: [.missedRenewal, .billingRetry]
        case .entitlements:
            [
                .missedRenewal, .missedRenewal, .lastPeriodLacking, .lastPeriodLacking, .trial, .introductoryOffer,
                .upgraded, .crossgraded, .billingRetry, .billingGrace, .refundedPeriod, .familySubscription,
            ]
        }
    }
}
