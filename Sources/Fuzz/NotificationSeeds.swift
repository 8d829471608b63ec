import Foundation

@testable import AppStoreSimulator

/// Notifications as Apple sends them, and what else it signs, signed by the simulator, the same in every process.
struct NotificationSeeds {
    private static let moment: Int64 = 1_790_000_000_000
    private let signer = PayloadSigner(TestKeys.usual.payloads)

    /// One about nothing, and one with each part that a notification may carry: with two it would be longer than what is
    /// fed.
    var notifications: [[UInt8]] {
        [
            notification("TEST") { _ in },
            notification("ONE_TIME_CHARGE") { $0.field("signedTransactionInfo", transaction) },
            notification("RENEWAL_EXTENDED") { $0.field("signedRenewalInfo", renewalInfo) },
            notification("RESCIND_CONSENT") { $0.field("signedAppTransactionInfo", appTransaction) },
        ].map { Array($0.utf8) }
    }

    /// Other kinds of JWS, which are told apart from notifications.
    var others: [[UInt8]] { [transaction, renewalInfo, appTransaction].map { Array($0.utf8) } }

    private func notification(_ type: String, _ write: (inout JSONText) -> Void) -> String {
        signer.sign { payload in
            payload.field("notificationType", type)
            payload.field("subtype", "INITIAL_BUY")
            payload.field("notificationUUID", "7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60")
            payload.field("version", "2.0")
            payload.field("signedDate", number: Self.moment)
            payload.object("data") { data in
                data.field("bundleId", "com.example.game")
                data.field("environment", "Production")
                write(&data)
            }
        }
    }

    private var transaction: String {
        signer.sign { payload in
            payload.field("transactionId", "370000000000001")
            payload.field("originalTransactionId", "370000000000001")
            payload.field("bundleId", "com.example.game")
            payload.field("productId", "com.example.game.gems.60")
            payload.field("purchaseDate", number: Self.moment)
            payload.field("quantity", number: 2)
            payload.field("revocationType", "REFUND_PRORATED")
            payload.field("revocationPercentage", number: 33_333)
            payload.field("appTransactionId", "704")
            payload.field("environment", "Production")
            payload.field("signedDate", number: Self.moment)
        }
    }

    private var renewalInfo: String {
        signer.sign { payload in
            payload.field("originalTransactionId", "370000000000002")
            payload.field("autoRenewProductId", "com.example.game.pass.weekly")
            payload.field("autoRenewStatus", number: 1)
            payload.field("environment", "Production")
            payload.field("signedDate", number: Self.moment)
        }
    }

    private var appTransaction: String {
        signer.sign { payload in
            payload.field("receiptType", "Production")
            payload.field("bundleId", "com.example.game")
            payload.field("appTransactionId", "704")
            payload.field("receiptCreationDate", number: Self.moment)
        }
    }
}
