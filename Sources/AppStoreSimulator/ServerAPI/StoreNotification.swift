import Foundation

/// A notification of version 2 that the store sent, or tried to send, to the app's server.
struct StoreNotification {
    let type: String
    let subtype: String?
    let at: Date
    let known: ServerAPI.Known

    /// What the store had to tell about a purchase, in the order of time.
    static func about(_ known: ServerAPI.Known) -> [StoreNotification] {
        let transaction = known.transaction
        let (type, subtype) =
            if !transaction.isAutoRenewable {
                ("ONE_TIME_CHARGE", String?.none)
            } else if transaction.isRenewal {
                ("DID_RENEW", String?.none)
            } else {
                ("SUBSCRIBED", "INITIAL_BUY")
            }
        // As it was before a refund.
        let bought = ServerAPI.Known(purchase: known.purchase, refund: nil)
        var list = [StoreNotification(type: type, subtype: subtype, at: transaction.purchasedAt, known: bought)]
        if let refund = known.refund {
            list.append(StoreNotification(type: "REFUND", subtype: nil, at: refund.at, known: known))
        }
        return list
    }

    private var hash: UInt64 { StableHash.of("\(type) \(known.transaction.id)".utf8) }

    /// Whether the app's server never took it: one in fifty.
    var hasFailed: Bool { Mix.share(Mix.finish(hash)) < 0.02 }

    fileprivate var uuid: String {
        var random = SeededRandom(seed: hash)
        return UUID(random: &random).uuidString.lowercased()
    }
}

extension ServerAPI {
    /// The notification as it was signed when it was sent (`responseBodyV2DecodedPayload`).
    func signed(_ notification: StoreNotification) -> String {
        let known = notification.known
        return signer.sign { payload in
            payload.field("notificationType", notification.type)
            if let subtype = notification.subtype { payload.field("subtype", subtype) }
            payload.field("notificationUUID", notification.uuid)
            payload.object("data") { data in
                if environment == .production { data.field("appAppleId", number: app.adamID) }
                data.field("bundleId", app.bundleID)
                data.field("environment", environment.rawValue)
                data.field("signedTransactionInfo", signed(known, at: notification.at))
                if known.transaction.isAutoRenewable {
                    data.field("signedRenewalInfo", signedRenewal(of: known, at: notification.at))
                    data.field(
                        "status", number: (known.refund == nil ? SubscriptionStatuses.Status.active : .revoked).rawValue
                    )
                }
            }
            payload.field("version", "2.0")
            payload.field("signedDate", number: notification.at.unixMilliseconds)
        }
    }
}
