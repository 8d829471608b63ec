import Foundation

/// A receipt of the form before iOS 7: a property list around another one and its signature.
struct TransactionReceiptForm {
    private enum Key {
        static let signature = "signature"
        static let purchaseInfo = "purchase-info"
        static let environment = "environment"
        static let account = "store-account"
    }

    /// The first byte of the signature, and of what is signed.
    private static let version: UInt8 = 2
    private static let signatureLength = 128

    let keys: KeyFile

    // MARK: Writing

    func encode(_ receipt: SimulatedReceipt, adamID: Int64) -> [UInt8] {
        let info = Array(purchaseInfo(of: receipt, adamID: adamID).text.utf8)
        var list = OldStylePropertyList()
        list.add(Key.signature, Data(signature(over: info)).base64EncodedString())
        list.add(Key.purchaseInfo, Data(info).base64EncodedString())
        list.add(Key.environment, receipt.environment.rawValue)
        list.add("pod", receipt.environment == .sandbox ? "100" : "17")
        list.add("signing-status", "0")
        return Array(list.text.utf8)
    }

    /// The version, RSA over SHA-1, and the certificate after its length.
    private func signature(over info: [UInt8]) -> [UInt8] {
        let certificate = keys.leaf.der
        let length = withUnsafeBytes(of: UInt32(certificate.count).bigEndian, Array.init)
        return [Self.version] + keys.key.signature(over: [Self.version] + info, .sha1) + length + certificate
    }

    private func purchaseInfo(of receipt: SimulatedReceipt, adamID: Int64) -> OldStylePropertyList {
        var list = OldStylePropertyList()
        guard let transaction = receipt.transactions.first else { return list }
        list.add("original-purchase-date", transaction.originalPurchasedAt)
        list.add("purchase-date", transaction.purchasedAt)
        list.add("unique-identifier", String(StableHash.of(receipt.account.utf8), radix: 16))
        list.add("original-transaction-id", transaction.originalID)
        list.add("transaction-id", transaction.id)
        list.add("quantity", String(transaction.quantity))
        list.add("product-id", transaction.productID)
        list.add("item-id", receipt.itemID)
        list.add("app-item-id", adamID == 0 ? nil : String(adamID))
        list.add("bid", receipt.bundleID)
        list.add("bvrs", receipt.applicationVersion)
        if let expiresAt = transaction.expiresAt {
            list.add("expires-date", String(expiresAt.unixMilliseconds))
            list.add("web-order-line-item-id", transaction.webOrderLineItemID)
            list.add("is-trial-period", transaction.isTrial ? "true" : "false")
        }
        list.add(Key.account, receipt.account)
        return list
    }

    // MARK: Reading

    func decode(_ bytes: [UInt8]) throws(ReceiptSigner.Unreadable) -> SimulatedReceipt {
        guard let text = String(validating: bytes, as: UTF8.self), let list = OldStylePropertyList(text: text),
            let signature = list[Key.signature].flatMap({ Data(base64Encoded: $0) }),
            let info = list[Key.purchaseInfo].flatMap({ Data(base64Encoded: $0) }),
            let environment = list[Key.environment].flatMap({ StoreEnvironment(rawValue: $0) })
        else { throw .malformed }
        let signed = [Self.version] + Array(info)
        guard signature.first == Self.version,
            keys.key.isGenuine(Array(signature.dropFirst().prefix(Self.signatureLength)), over: signed, .sha1)
        else { throw .notAuthentic }
        guard let info = OldStylePropertyList(text: String(decoding: info, as: UTF8.self)),
            let receipt = Self.receipt(info, environment)
        else { throw .malformed }
        return receipt
    }

    private static func receipt(_ info: OldStylePropertyList, _ environment: StoreEnvironment) -> SimulatedReceipt? {
        guard let id = info["transaction-id"], let originalID = info["original-transaction-id"],
            let productID = info["product-id"], let quantity = info["quantity"].flatMap({ Int($0) }),
            let purchasedAt = info.date("purchase-date"),
            let originalPurchasedAt = info.date("original-purchase-date"), let bundleID = info["bid"],
            let version = info["bvrs"], let account = info[Key.account]
        else { return nil }
        let transaction = SimulatedTransaction(
            id: id, originalID: originalID, productID: productID, quantity: quantity, purchasedAt: purchasedAt,
            originalPurchasedAt: originalPurchasedAt,
            expiresAt: info["expires-date"].flatMap { Int64($0) }.map(Date.init(unixMilliseconds:)),
            isTrial: info["is-trial-period"] == "true")
        return SimulatedReceipt(
            style: .transactionReceipt, bundleID: bundleID, environment: environment, account: account,
            createdAt: purchasedAt, applicationVersion: version, transactions: [transaction])
    }
}

extension OldStylePropertyList {
    /// Adds the three entries in which this form writes a moment.
    fileprivate mutating func add(_ key: String, _ date: Date) {
        add(key, StoreDate(date).text(in: .gmt))
        add(key + "-ms", String(date.unixMilliseconds))
        add(key + "-pst", StoreDate(date).text(in: .pacific))
    }

    fileprivate func date(_ key: String) -> Date? {
        self[key + "-ms"].flatMap { Int64($0) }.map(Date.init(unixMilliseconds:))
    }
}

extension SimulatedReceipt {
    /// The product's own number in the store.
    var itemID: String? {
        transactions.first.map { String(1_400_000_000 + StableHash.of($0.productID.utf8) % 100_000_000) }
    }
}
