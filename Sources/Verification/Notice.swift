import AppStore
package import Foundation
package import Reconciliation

/// What Apple told the app's server of its own accord: a notification of version 2. All of it is signed by Apple, and
/// is for the app.
///
/// It says how things stood when it was made. The customer's history says how they stand now.
package struct Notice: Sendable {
    /// Stays the same for each attempt to send it.
    package var uuid: String
    /// Apple's word, as sent: `ONE_TIME_CHARGE`, `DID_RENEW`, `REFUND` …
    package var type: String
    package var subtype: String?
    package var signedAt: Date
    package var bundleID: BundleID
    package var environment: Environment
    /// The transaction that it is about; `nil` if it is about no purchase, such as `TEST`.
    package var transaction: VerifiedTransaction?
    /// When Apple signed the transaction. For a renewal it may be before the purchase.
    package var transactionSignedAt: Date?
    /// The transaction as it was sent: a proof, like one that a client uploads.
    package var signedTransaction: String?
    /// Apple's word for why it asks about consumption, in `CONSUMPTION_REQUEST`.
    package var consumptionReason: String?
    /// The attempts to send it, if Apple named them.
    package var attempts: [NoticeAttempt]
    /// The whole payload from Apple's history; `nil` if it was handed on.
    package var payload: String?
}

/// One attempt of Apple's to send a notification to the app's server.
package struct NoticeAttempt: Hashable, Sendable {
    package var date: Date?
    /// Apple's word, as sent: `SUCCESS`, `TIMED_OUT` …
    package var result: String
}

/// Why a notification can't be used, in a sentence that holds nothing of its payload.
package struct NoticeFlaw: Error, Hashable, Sendable, CustomStringConvertible {
    package let text: String
    /// Whether it never will be usable, whatever setting is corrected and whatever a newer program can read.
    package let isFinal: Bool
    /// Whether Apple signed it, but for another app or environment.
    package let isOfAnother: Bool

    package init(text: String, isFinal: Bool = false, isOfAnother: Bool = false) {
        self.text = text
        self.isFinal = isFinal
        self.isOfAnother = isOfAnother
    }

    package var description: String { text }
}

extension Notice {
    /// The most bytes that the ledger takes for a UUID; 36 are usual.
    private static let longestUUID = 64

    /// - Parameter notification: a verified one.
    init(
        _ notification: AppStoreNotification, attempts: [NoticeAttempt] = [], payload: String? = nil
    ) throws(NoticeFlaw) {
        guard let uuid = notification.uuid, let type = notification.type, let signedAt = notification.signedDate,
            let bundleID = notification.bundleID.flatMap(BundleID.init),
            let environment = notification.environment.flatMap(Environment.init)
        else { throw NoticeFlaw(text: "the notification lacks its UUID, type, date, app or environment") }
        guard uuid.utf8.count <= Self.longestUUID else {
            throw NoticeFlaw(text: "the notification has a UUID of \(uuid.utf8.count) bytes, which can't be one")
        }
        if let transaction = notification.transaction, transaction.environment != environment.rawValue {
            throw NoticeFlaw(text: "the notification and its transaction are of different environments")
        }
        self.init(
            uuid: uuid, type: type, subtype: notification.subtype, signedAt: signedAt, bundleID: bundleID,
            environment: environment, transaction: try Self.transaction(of: notification),
            transactionSignedAt: notification.transaction?.signedDate,
            signedTransaction: notification.signedTransaction,
            consumptionReason: notification.consumptionRequestReason, attempts: attempts, payload: payload)
    }

    private static func transaction(
        of notification: AppStoreNotification
    ) throws(NoticeFlaw) -> VerifiedTransaction? {
        do {
            return try notification.transaction.map { signed in
                var transaction = try Transaction(signed)
                // Whatever it may still hold of the refund.
                if notification.type == "REFUND_REVERSED" { transaction.takeRefundBack() }
                return VerifiedTransaction(transaction, source: .local)
            }
        } catch {
            throw NoticeFlaw(text: "\(error)")
        }
    }
}

extension Transaction {
    /// Forgets its refund, which Apple took back.
    fileprivate mutating func takeRefundBack() {
        (refundedAt, refundReason, revocationType, revocationPercentage) = (nil, nil, nil, nil)
    }
}
