import AppStoreSimulator
import Foundation

@testable import AppStore

/// Proofs of every form, signed by the simulator, the same in every process.
struct ReceiptSeeds {
    private static let moment = Date(timeIntervalSince1970: 1_790_000_000)
    private let store = SimulatedAppStore(seed: 7, records: StoreRecords(), now: { Self.moment })

    /// Trusts what the simulator signs.
    var roots: TrustRoots {
        guard let roots = try? TrustRoots.apple.adding(contentsOf: store.rootCertificatesPEM.utf8) else {
            preconditionFailure("the simulator's certificates can't be read")
        }
        return roots
    }

    // MARK: In the forms that decoders take

    var appReceipts: [[UInt8]] { receipts.map { binary($0) } }
    var transactionReceipts: [[UInt8]] { [binary(proof(.transactionReceipt, [gems, pass]))] }
    var signedTransactions: [[UInt8]] { [gems, pass].map { text(proof(.signedTransaction, [$0])) } }

    var appReceiptPayloads: [[UInt8]] {
        appReceipts.compactMap { receipt in
            guard let container = try? SignedContainer(receipt) else { return nil }
            return container.unverifiedContent
        }
    }

    /// Notifications, and what is not to be taken for one.
    var notifications: [[UInt8]] { NotificationSeeds().notifications + NotificationSeeds().others }

    var signedPayloads: [[UInt8]] {
        (signedTransactions + notifications).compactMap { token in
            (try? CompactJWS(token, limit: token.count).payload()).map { Array($0) }
        }
    }

    /// As clients send them: base64, in quotes, in the object that Unity puts around, and an answer of `verifyReceipt`.
    var uploads: [[UInt8]] {
        let receipt = String(decoding: text(proof(.appReceipt, [gems])), as: UTF8.self)
        let wrapped = #"{"Store":"AppleAppStore","TransactionID":"1","Payload":"\#(receipt)"}"#
        return appReceipts + signedTransactions + notifications + transactionReceipts + [
            Array(receipt.utf8), Array("\"\(receipt)\"".utf8), Array(wrapped.utf8),
            text(proof(.transactionReceipt, [gems])), Array(#"{"status":21002}"#.utf8),
        ]
    }

    // MARK: What they say

    private var receipts: [SimulatedReceipt] {
        [proof(.appReceipt, []), proof(.appReceipt, [gems]), proof(.appReceipt, [gems, pass])]
    }

    private var gems: SimulatedTransaction {
        SimulatedTransaction(
            id: "370000000000001", productID: "com.example.game.gems.60", quantity: 2, purchasedAt: Self.moment,
            appAccountToken: "7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60",
            price: SimulatedTransaction.Price(milliunits: 990, currency: "USD"))
    }

    private var pass: SimulatedTransaction {
        SimulatedTransaction(
            id: "370000000000003", originalID: "370000000000002", productID: "com.example.game.pass.weekly",
            purchasedAt: Self.moment, expiresAt: Self.moment.addingTimeInterval(604_800), isTrial: true)
    }

    private func proof(_ style: SimulatedReceipt.Style, _ transactions: [SimulatedTransaction]) -> SimulatedReceipt {
        SimulatedReceipt(
            style: style, bundleID: "com.example.game", account: "account-1", createdAt: Self.moment,
            transactions: transactions)
    }

    private func text(_ receipt: SimulatedReceipt) -> [UInt8] { Array(store.makeReceipt(receipt).utf8) }

    private func binary(_ receipt: SimulatedReceipt) -> [UInt8] {
        Data(base64Encoded: store.makeReceipt(receipt)).map(Array.init) ?? []
    }
}
