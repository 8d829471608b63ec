import Foundation

/// The body of an answer of `verifyReceipt`, read in one pass.
struct AnswerBody: Decodable {
    enum Key: String, CodingKey {
        case status
        case environment
        case receipt
        case exception
        case isRetryable = "is-retryable"
        case isRetryableToo = "is_retryable"
        case latestReceiptInfo = "latest_receipt_info"
        case latestExpiredReceiptInfo = "latest_expired_receipt_info"
        case pendingRenewalInfo = "pending_renewal_info"
    }

    let status: Int?
    /// Apple writes this field with a hyphen or with an underscore.
    let isRetryable: Bool?
    /// What Apple's server died of; short, and without control characters.
    let exception: String?
    private let environment: String?
    private let receipt: ReceiptBody?
    private let latest: [(list: String, rows: [TransactionRow]?)]
    private let renewals: [PendingRenewal]

    init(from decoder: any Decoder) throws {
        let body = try decoder.container(keyedBy: Key.self)
        status = body.integer(.status).flatMap(Int.init(exactly:))
        isRetryable = body.flag(.isRetryable) ?? body.flag(.isRetryableToo)
        exception = body.text(.exception).map(Self.shortened)
        environment = body.text(.environment)
        receipt = body.says(.receipt) ? try? body.decode(ReceiptBody.self, forKey: .receipt) : nil
        latest = [Key.latestReceiptInfo, .latestExpiredReceiptInfo].filter(body.says).map { key in
            (key.rawValue, (try? body.decode(ListOrOne<TransactionRow>.self, forKey: key))?.elements)
        }
        renewals = try Self.renewals(in: body, of: decoder)
    }

    /// What a genuine answer says of the receipt; nothing if it holds none. `endpoint` is the environment of the
    /// endpoint that answered.
    func answer(endpoint: String) -> VerifiedReceiptAnswer? {
        guard let receipt else { return nil }
        var union = TransactionUnion()
        union.add(receipt.rows, from: receipt.isFlat ? "receipt" : "in_app")
        if let flaw = receipt.flaw { union.note(flaw) }
        for (list, rows) in latest {
            if let rows { union.add(rows, from: list) } else { union.note("\(list) is neither a list nor an object") }
        }
        var answer = VerifiedReceiptAnswer(
            environment: environment ?? endpoint, transactions: union.transactions())
        answer.bundleID = receipt.bundleID
        answer.receiptType = receipt.receiptType
        answer.applicationVersion = receipt.applicationVersion
        answer.receiptCreationDate = receipt.creationDate
        answer.requestDate = receipt.requestDate
        answer.pendingRenewals = renewals
        answer.isFlat = receipt.isFlat
        answer.unusableRows = union.unusableRows
        return answer
    }

    private static func renewals(
        in body: KeyedDecodingContainer<Key>, of decoder: any Decoder
    ) throws -> [PendingRenewal] {
        if body.contains(.pendingRenewalInfo),
            let renewals = try? body.decode(ListOrOne<PendingRenewal>.self, forKey: .pendingRenewalInfo)
        {
            return renewals.elements
        }
        // An iOS 6 answer holds the same fields at its top.
        let renewal = try PendingRenewal(from: decoder)
        return renewal.autoRenewStatus == nil ? [] : [renewal]
    }

    private static func shortened(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(120).map { $0.value < 0x20 ? " " : $0 }))
    }
}

/// The object `receipt`: an app receipt with its rows, or an iOS 6 receipt, which is a row itself.
private struct ReceiptBody: Decodable {
    enum Key: String, CodingKey {
        case bundleID = "bundle_id"
        case bid
        case transactionID = "transaction_id"
        case receiptType = "receipt_type"
        case applicationVersion = "application_version"
        case bvrs
        case creationDate = "receipt_creation_date"
        case creationDateMS = "receipt_creation_date_ms"
        case requestDate = "request_date"
        case requestDateMS = "request_date_ms"
        case inApp = "in_app"
    }

    let bundleID: String?
    let receiptType: String?
    let applicationVersion: String?
    let creationDate: Date?
    let requestDate: Date?
    let rows: [TransactionRow]
    let isFlat: Bool
    /// That `in_app` is there and is no list.
    let flaw: String?

    init(from decoder: any Decoder) throws {
        let receipt = try decoder.container(keyedBy: Key.self)
        bundleID = receipt.text(.bundleID) ?? receipt.text(.bid)
        receiptType = receipt.text(.receiptType)
        applicationVersion = receipt.text(.applicationVersion) ?? receipt.text(.bvrs)
        creationDate = receipt.date(.creationDateMS, .creationDate)
        requestDate = receipt.date(.requestDateMS, .requestDate)
        isFlat = !receipt.contains(.inApp) && (receipt.contains(.bid) || receipt.contains(.transactionID))
        if isFlat {
            rows = [TransactionRow(from: decoder)]
            flaw = nil
        } else {
            let list = receipt.says(.inApp) ? try? receipt.decode(ListOrOne<TransactionRow>.self, forKey: .inApp) : nil
            rows = list?.elements ?? []
            flaw = list == nil && receipt.says(.inApp) ? "in_app is neither a list nor an object" : nil
        }
    }
}

extension PendingRenewal: Decodable {
    enum Key: String, CodingKey {
        case originalTransactionID = "original_transaction_id"
        case productID = "product_id"
        case autoRenewProductID = "auto_renew_product_id"
        case autoRenewStatus = "auto_renew_status"
        case expirationIntent = "expiration_intent"
        case isInBillingRetryPeriod = "is_in_billing_retry_period"
        case gracePeriodExpiresDate = "grace_period_expires_date"
        case gracePeriodExpiresDateMS = "grace_period_expires_date_ms"
    }

    public init(from decoder: any Decoder) throws {
        let renewal = try decoder.container(keyedBy: Key.self)
        originalTransactionID = renewal.text(.originalTransactionID)
        productID = renewal.text(.productID)
        autoRenewProductID = renewal.text(.autoRenewProductID)
        autoRenewStatus = renewal.text(.autoRenewStatus)
        expirationIntent = renewal.text(.expirationIntent)
        isInBillingRetryPeriod = renewal.flag(.isInBillingRetryPeriod) ?? false
        gracePeriodExpiresDate = renewal.date(.gracePeriodExpiresDateMS, .gracePeriodExpiresDate)
    }
}
