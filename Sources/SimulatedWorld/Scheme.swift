import AppStoreSimulator

/// The ways in which published clients bring a purchase from StoreKit to their server, each with its own weak spot.
public enum Scheme: String, Sendable, CaseIterable {
    /// An order first, kept in the keychain while purchasing; verifies, delivers, finishes; retries at later launches.
    case jkIAPHelp = "JKIAPHelp"
    /// An order first; finishes as soon as it is purchased, and hands its receipt in afterwards, once.
    case applePayVC = "ApplePayVC"
    /// An order first; keeps one receipt until the server confirms it, and finishes all others before a new purchase.
    case kdIAPManager = "KDIAPManager"
    /// Pays first, and opens the order afterwards; keeps what is pending for whoever is logged in.
    case blIAP = "BLIAP"
    /// No orders; uploads the receipt on launch when no callback came.
    case dyfStore = "DYFStore"

    /// Whether its order is opened before the payment.
    var ordersFirst: Bool {
        switch self {
        case .jkIAPHelp, .applePayVC, .kdIAPManager: true
        case .blIAP, .dyfStore: false
        }
    }

    /// What may happen to a purchase other than going well; common mishaps are listed more than once.
    var mishaps: [Mishap] {
        let own: [Mishap] =
            switch self {
            case .jkIAPHelp: [.nameLost, .nameLost, .severalOrders, .reinstalled, .twentyCopies, .claimedLate]
            case .applePayVC: [.finishedUndelivered, .finishedUndelivered, .severalOrders, .receivedLater]
            case .kdIAPManager: [.overwritten, .overwritten, .oneOfThree, .claimedLate]
            case .blIAP:
                [.ordersAfterwards, .ordersAfterwards, .misdelivered, .misdelivered, .misdelivered, .claimedLate]
            case .dyfStore: [.oneOfThree, .deliveredUnfinished, .reinstalled, .twentyCopies, .claimedLate]
            }
        return own + Mishap.common
    }
}
