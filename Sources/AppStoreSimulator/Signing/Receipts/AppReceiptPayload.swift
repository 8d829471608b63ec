import Foundation

/// The content of an app receipt: a SET of numbered attributes in no order, in-app purchases among them.
struct AppReceiptPayload {
    /// The numbers of attributes. Those that Apple hasn't documented hold what only the simulator needs.
    private enum Attribute {
        static let receiptType: Int64 = 0
        static let appID: Int64 = 1
        static let bundleID: Int64 = 2
        static let applicationVersion: Int64 = 3
        /// Raw bytes that mean something only to the store: here, the account.
        static let opaqueValue: Int64 = 4
        static let deviceHash: Int64 = 5
        static let creationDate: Int64 = 12
        static let downloadID: Int64 = 15
        static let versionID: Int64 = 16
        static let inApp: Int64 = 17
        static let originalPurchaseDate: Int64 = 18
        static let originalVersion: Int64 = 19
    }

    private enum InApp {
        static let quantity: Int64 = 1701
        static let productID: Int64 = 1702
        static let transactionID: Int64 = 1703
        static let purchaseDate: Int64 = 1704
        static let originalTransactionID: Int64 = 1705
        static let originalPurchaseDate: Int64 = 1706
        static let productType: Int64 = 1707
        static let expiresDate: Int64 = 1708
        static let webOrderLineItemID: Int64 = 1711
        static let cancellationDate: Int64 = 1712
        static let isTrial: Int64 = 1713
        static let isIntroductory: Int64 = 1719
        /// The simulator's own attribute.
        static let isFamilyShared: Int64 = 1791
        static let appAccountToken: Int64 = 1792
    }

    /// When everyone first bought the app.
    static let originalPurchaseDate = Date(timeIntervalSince1970: 1_375_340_400)
    static let originalVersion = "1.0"
    static let versionID: Int64 = 827_235_835

    // MARK: Writing

    /// - Parameter adamID: 0 in the sandbox, as in Apple's receipts.
    static func encode(_ receipt: SimulatedReceipt, adamID: Int64) -> [UInt8] {
        var attributes = AttributeSet()
        attributes.add(Attribute.receiptType, text: receipt.environment.receiptType)
        attributes.add(Attribute.appID, number: adamID)
        attributes.add(Attribute.bundleID, text: receipt.bundleID)
        attributes.add(Attribute.applicationVersion, text: receipt.applicationVersion)
        attributes.add(Attribute.opaqueValue, raw: Array(receipt.account.utf8))
        attributes.add(Attribute.deviceHash, raw: Digest.sha1(Array("\(receipt.account) \(receipt.bundleID)".utf8)))
        attributes.add(Attribute.creationDate, date: receipt.createdAt)
        attributes.add(Attribute.downloadID, number: adamID == 0 ? 0 : receipt.downloadID)
        attributes.add(Attribute.versionID, number: adamID == 0 ? 0 : versionID)
        attributes.add(Attribute.originalPurchaseDate, date: originalPurchaseDate)
        attributes.add(Attribute.originalVersion, text: originalVersion)
        for transaction in receipt.transactions { attributes.add(Attribute.inApp, raw: encode(transaction)) }
        return attributes.der
    }

    private static func encode(_ transaction: SimulatedTransaction) -> [UInt8] {
        var attributes = AttributeSet()
        attributes.add(InApp.quantity, number: Int64(transaction.quantity))
        attributes.add(InApp.productID, text: transaction.productID)
        attributes.add(InApp.transactionID, text: transaction.id)
        attributes.add(InApp.purchaseDate, date: transaction.purchasedAt)
        attributes.add(InApp.originalTransactionID, text: transaction.originalID)
        attributes.add(InApp.originalPurchaseDate, date: transaction.originalPurchasedAt)
        attributes.add(InApp.productType, number: Int64(transaction.productType.rawValue))
        attributes.add(InApp.expiresDate, date: transaction.expiresAt)
        attributes.add(
            InApp.webOrderLineItemID,
            number: transaction.isAutoRenewable ? Int64(transaction.webOrderLineItemID) ?? 0 : 0)
        attributes.add(InApp.cancellationDate, date: nil)
        attributes.add(InApp.isTrial, number: transaction.isTrial ? 1 : 0)
        attributes.add(InApp.isIntroductory, number: transaction.isIntroductory ? 1 : 0)
        if transaction.isFamilyShared { attributes.add(InApp.isFamilyShared, number: 1) }
        if let token = transaction.appAccountToken { attributes.add(InApp.appAccountToken, text: token) }
        return attributes.der
    }

    // MARK: Reading

    static func decode(_ bytes: [UInt8]) throws(DERReader.Malformed) -> SimulatedReceipt {
        let attributes = try AttributeSet(der: bytes[...])
        guard let environment = StoreEnvironment(receiptType: try attributes.text(Attribute.receiptType)) else {
            throw DERReader.Malformed()
        }
        var receipt = SimulatedReceipt(
            bundleID: try attributes.text(Attribute.bundleID), environment: environment,
            account: String(decoding: try attributes.raw(Attribute.opaqueValue), as: UTF8.self),
            createdAt: try attributes.date(Attribute.creationDate) ?? .distantPast,
            applicationVersion: try attributes.text(Attribute.applicationVersion), transactions: [])
        for value in attributes.all(Attribute.inApp) { receipt.transactions.append(try transaction(value)) }
        return receipt
    }

    private static func transaction(_ value: ArraySlice<UInt8>) throws(DERReader.Malformed) -> SimulatedTransaction {
        let attributes = try AttributeSet(der: value)
        guard let purchasedAt = try attributes.date(InApp.purchaseDate),
            let originalPurchasedAt = try attributes.date(InApp.originalPurchaseDate),
            let productType = SimulatedTransaction.ProductType(
                rawValue: Int(try attributes.number(InApp.productType)))
        else { throw DERReader.Malformed() }
        let hasToken = !attributes.all(InApp.appAccountToken).isEmpty
        return SimulatedTransaction(
            id: try attributes.text(InApp.transactionID), originalID: try attributes.text(InApp.originalTransactionID),
            productID: try attributes.text(InApp.productID), productType: productType,
            quantity: Int(try attributes.number(InApp.quantity)), purchasedAt: purchasedAt,
            originalPurchasedAt: originalPurchasedAt, expiresAt: try attributes.date(InApp.expiresDate),
            isTrial: try attributes.number(InApp.isTrial) == 1,
            isIntroductory: try attributes.number(InApp.isIntroductory) == 1,
            isFamilyShared: !attributes.all(InApp.isFamilyShared).isEmpty,
            appAccountToken: hasToken ? try attributes.text(InApp.appAccountToken) : nil)
    }
}

extension StoreEnvironment {
    /// Its name in receipts and answers.
    var receiptType: String {
        switch self {
        case .production: "Production"
        case .sandbox: "ProductionSandbox"
        }
    }

    init?(receiptType: String) {
        guard let environment = Self.allCases.first(where: { $0.receiptType == receiptType }) else { return nil }
        self = environment
    }
}
