import Foundation

/// A notification of version 2 that the store sent, or tried to send, to the app's server.
package struct StoreNotification {
    /// Apple's word for what happened (`notificationType`), of those that the store sends.
    package enum Kind: String, CaseIterable {
        case oneTimeCharge = "ONE_TIME_CHARGE"
        case subscribed = "SUBSCRIBED"
        case renewed = "DID_RENEW"
        case refund = "REFUND"
        case refundReversed = "REFUND_REVERSED"
        case revoke = "REVOKE"
        case consumptionRequest = "CONSUMPTION_REQUEST"

        /// The kind for a purchase; `nil` for a restored one.
        package init?(_ transaction: SimulatedTransaction) {
            if transaction.isAutoRenewable {
                self = transaction.isRenewal ? .renewed : .subscribed
            } else if transaction.id == transaction.originalID {
                self = .oneTimeCharge
            } else {
                return nil
            }
        }

        /// The kind for a refund.
        init(_ refund: Refund) {
            self = refund.kind == .familyRevoke ? .revoke : .refund
        }
    }

    /// Apple's types that the store does not send.
    private static let otherTypes: Set<String> = [
        "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW", "EXPIRED",
        "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "OFFER_REDEEMED", "PRICE_INCREASE", "REFUND_DECLINED",
        "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "TEST",
    ]

    let kind: Kind
    let at: Date
    /// The purchase as it was then.
    let known: ServerAPI.Known
    /// The reason for a consumption request, in Apple's words.
    var reason: String?

    var subtype: String? { kind == .subscribed ? "INITIAL_BUY" : nil }

    static func isType(_ name: String) -> Bool { Kind(rawValue: name) != nil || otherTypes.contains(name) }

    /// The store's notifications about purchases, in chronological order.
    static func about(_ purchases: [StoredPurchase], _ records: StoreRecords) -> [StoreNotification] {
        purchases.filter { !records.isDeleted($0.account) }.flatMap { about($0, records) }
            .sorted { ($0.at, $0.known.transaction.id) < ($1.at, $1.known.transaction.id) }
    }

    private static func about(_ purchase: StoredPurchase, _ records: StoreRecords) -> [StoreNotification] {
        let id = purchase.transaction.id
        var list: [StoreNotification] = []
        func tell(_ kind: Kind?, at happened: Date, _ refund: Refund? = nil, reason: String? = nil) {
            guard let kind, let moment = records.notices.moment(of: kind, id, at: happened) else { return }
            let known = ServerAPI.Known(purchase: purchase, refund: refund)
            list.append(StoreNotification(kind: kind, at: moment, known: known, reason: reason))
        }
        tell(Kind(purchase.transaction), at: purchase.at)
        if let request = records.request(of: id, in: purchase.environment) {
            tell(.consumptionRequest, at: request.at, reason: request.reason)
        }
        if let refund = records.anyRefund(of: id, in: purchase.environment) {
            tell(Kind(refund), at: refund.at, refund)
            if let reversedAt = refund.reversedAt { tell(.refundReversed, at: reversedAt) }
        }
        return list
    }

    /// The same for the same notification of any store.
    static func hash(_ kind: Kind, _ transactionID: String) -> UInt64 {
        StableHash.of("\(kind.rawValue) \(transactionID)".utf8)
    }

    var hash: UInt64 { Self.hash(kind, known.transaction.id) }

    fileprivate var uuid: String {
        var random = SeededRandom(seed: hash)
        return UUID(random: &random).uuidString.lowercased()
    }
}

extension ServerAPI {
    /// The notification as it was signed when it was sent (`responseBodyV2DecodedPayload`).
    ///
    /// - Parameter bundleID: another app to name instead of the one that asks.
    func signed(_ notification: StoreNotification, as bundleID: String? = nil) -> String {
        let known = notification.known
        return signer.sign { payload in
            payload.field("notificationType", notification.kind.rawValue)
            if let subtype = notification.subtype { payload.field("subtype", subtype) }
            payload.field("notificationUUID", notification.uuid)
            payload.object("data") { data in
                if environment == .production { data.field("appAppleId", number: app.adamID) }
                data.field("bundleId", bundleID ?? app.bundleID)
                data.field("environment", environment.rawValue)
                data.field("signedTransactionInfo", signed(known, at: notification.at))
                if known.transaction.isAutoRenewable {
                    data.field("signedRenewalInfo", signedRenewal(of: known, at: notification.at))
                    data.field(
                        "status", number: (known.refund == nil ? SubscriptionStatuses.Status.active : .revoked).rawValue
                    )
                }
                if let reason = notification.reason { data.field("consumptionRequestReason", reason) }
            }
            payload.field("version", "2.0")
            payload.field("signedDate", number: notification.at.unixMilliseconds)
        }
    }
}
