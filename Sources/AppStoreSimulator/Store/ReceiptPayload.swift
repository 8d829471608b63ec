import COpenSSL
import Foundation

/// How a receipt becomes the base64 text that clients upload, and is read back. The text carries all its facts and
/// an authenticator made with the seed, so the store keeps nothing of the receipts it made.
struct ReceiptPayload: Sendable {
    private static let magic = "simulated-receipt-1"
    private static let authenticatorLength = 32
    private let key: [UInt8]

    init(seed: UInt64) {
        key = Array("simulated App Store, seed \(seed)".utf8)
    }

    /// Why a text is no receipt of this store.
    enum Unreadable: Error {
        /// It isn't a receipt at all.
        case malformed
        /// It is one, and another made it.
        case notAuthentic
    }

    func encode(_ receipt: SimulatedReceipt) -> String {
        var text = [
            Self.magic, receipt.style.rawValue, receipt.environment.rawValue, receipt.bundleID, receipt.account,
            String(receipt.createdAt.unixMilliseconds), receipt.applicationVersion,
        ].joined(separator: "\t")
        for transaction in receipt.transactions {
            text += "\n" + fields(of: transaction).joined(separator: "\t")
        }
        var data = Data(text.utf8)
        data.append(contentsOf: authenticator(of: data))
        return data.base64EncodedString()
    }

    func decode(_ payload: String) throws(Unreadable) -> SimulatedReceipt {
        guard let data = Data(base64Encoded: payload), data.count > Self.authenticatorLength,
            data.starts(with: Self.magic.utf8)
        else { throw .malformed }
        let body = data.dropLast(Self.authenticatorLength)
        guard authenticator(of: body).elementsEqual(data.suffix(Self.authenticatorLength)) else { throw .notAuthentic }
        let lines = body.split(separator: UInt8(ascii: "\n")).map { line in
            line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        guard let head = lines.first, var receipt = receipt(from: head) else { throw .malformed }
        for line in lines.dropFirst() {
            guard let transaction = transaction(from: line) else { throw .malformed }
            receipt.transactions.append(transaction)
        }
        return receipt
    }

    private func fields(of transaction: SimulatedTransaction) -> [String] {
        [
            transaction.id, transaction.originalID, transaction.productID, String(transaction.quantity),
            String(transaction.purchasedAt.unixMilliseconds), String(transaction.originalPurchasedAt.unixMilliseconds),
            transaction.expiresAt.map { String($0.unixMilliseconds) } ?? "", transaction.isTrial ? "1" : "",
            transaction.isFamilyShared ? "1" : "", transaction.appAccountToken ?? "",
        ]
    }

    private func receipt(from fields: [String]) -> SimulatedReceipt? {
        guard fields.count == 7, let style = SimulatedReceipt.Style(rawValue: fields[1]),
            let environment = StoreEnvironment(rawValue: fields[2]), let createdAt = Int64(fields[5])
        else { return nil }
        return SimulatedReceipt(
            style: style, bundleID: fields[3], environment: environment, account: fields[4],
            createdAt: Date(unixMilliseconds: createdAt), applicationVersion: fields[6], transactions: [])
    }

    private func transaction(from fields: [String]) -> SimulatedTransaction? {
        guard fields.count == 10, let quantity = Int(fields[3]), let purchasedAt = Int64(fields[4]),
            let originalPurchasedAt = Int64(fields[5])
        else { return nil }
        return SimulatedTransaction(
            id: fields[0], originalID: fields[1], productID: fields[2], quantity: quantity,
            purchasedAt: Date(unixMilliseconds: purchasedAt),
            originalPurchasedAt: Date(unixMilliseconds: originalPurchasedAt),
            expiresAt: Int64(fields[6]).map(Date.init(unixMilliseconds:)), isTrial: fields[7] == "1",
            isFamilyShared: fields[8] == "1", appAccountToken: fields[9].isEmpty ? nil : fields[9])
    }

    /// HMAC-SHA256 of the text.
    private func authenticator(of data: Data) -> [UInt8] {
        let bytes = Array(data)
        var code = [UInt8](repeating: 0, count: Self.authenticatorLength)
        var length = 0
        let made = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &code, code.count, &length)
        precondition(made != nil && length == code.count, "OpenSSL has no HMAC with SHA-256")
        return code
    }
}
