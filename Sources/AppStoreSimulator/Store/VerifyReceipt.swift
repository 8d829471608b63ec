import Foundation

/// Apple's endpoint `verifyReceipt`, as a function from a request to the answer's body. The HTTP status is always 200.
struct VerifyReceipt {
    let signer: ReceiptSigner

    /// The body of a request.
    struct Request: Decodable {
        let receiptData: String?
        let password: String?
        let excludeOldTransactions: Bool?

        enum CodingKeys: String, CodingKey {
            case receiptData = "receipt-data"
            case password
            case excludeOldTransactions = "exclude-old-transactions"
        }

        /// `nil` if the body isn't such JSON.
        init?(body: [UInt8]) {
            guard let request = try? JSONDecoder().decode(Request.self, from: Data(body)) else { return nil }
            self = request
        }
    }

    /// The codes with which Apple refuses.
    enum Status: Int64 {
        case notPosted = 21000
        case malformed = 21002
        case notAuthentic = 21003
        case wrongSecret = 21004
        case unavailable = 21005
        case sandboxReceipt = 21007
        case productionReceipt = 21008
        case internalError = 21009
        case accountGone = 21010
    }

    /// The answer of one endpoint at one moment.
    func answer(to request: Request?, at endpoint: StoreEnvironment, records: StoreRecords, now: Date) -> [UInt8] {
        guard let request, let payload = request.receiptData else { return Self.refusal(.malformed) }
        let receipt: SimulatedReceipt
        do {
            receipt = try signer.decode(payload)
        } catch {
            return Self.refusal(error == .malformed ? .malformed : .notAuthentic)
        }
        if let status = status(of: receipt, at: endpoint, password: request.password, records: records) {
            return Self.refusal(status)
        }
        let answer = ReceiptAnswer(
            receipt: receipt, records: records, now: now, signer: signer,
            excludesOldTransactions: request.excludeOldTransactions ?? false)
        return answer.json()
    }

    /// The body of an answer that is only a status: 16 bytes, as recorded.
    static func refusal(_ status: Status) -> [UInt8] {
        Array("{\"status\":\(status.rawValue)}".utf8)
    }

    private func status(
        of receipt: SimulatedReceipt, at endpoint: StoreEnvironment, password: String?, records: StoreRecords
    ) -> Status? {
        if receipt.environment != endpoint {
            return receipt.environment == .sandbox ? .sandboxReceipt : .productionReceipt
        }
        if let secret = records.apps[receipt.bundleID]?.sharedSecret, secret != password,
            receipt.transactions.contains(where: \.isAutoRenewable)
        {
            return .wrongSecret
        }
        return records.isDeleted(receipt.account) ? .accountGone : nil
    }
}
