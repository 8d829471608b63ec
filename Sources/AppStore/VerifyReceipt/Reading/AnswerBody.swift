import Foundation

/// The body of an answer of `verifyReceipt`.
struct AnswerBody {
    let status: Int?
    /// Apple writes this field with a hyphen or with an underscore.
    let isRetryable: Bool?
    /// The error of Apple's server, shortened and without control characters.
    let exception: String?
    private let environment: String?
    private let receipt: ReceiptBody?
    private let latest: [(list: String, rows: [TransactionRow]?)]
    private let renewals: [PendingRenewal]

    init(_ body: JSONObject) {
        status = body.integer("status").flatMap(Int.init(exactly:))
        isRetryable = body.flag("is-retryable") ?? body.flag("is_retryable")
        exception = body.text("exception").map(Self.shortened)
        environment = body.text("environment")
        receipt = body.object("receipt").map(ReceiptBody.init)
        latest = ["latest_receipt_info", "latest_expired_receipt_info"].filter(body.says).map { list in
            (list.description, body.listOrOne(list)?.map(TransactionRow.init))
        }
        renewals = Self.renewals(in: body)
    }

    /// What a genuine answer says of the receipt; `nil` if it holds none. `endpoint` is the environment of the endpoint
    /// that answered.
    func answer(endpoint: String) -> VerifiedReceiptAnswer? {
        guard let receipt else { return nil }
        var union = TransactionUnion()
        union.add(receipt.rows, from: receipt.isFlat ? "receipt" : "in_app")
        let idsInReceipt = union.count
        if let flaw = receipt.flaw { union.note(flaw) }
        for (list, rows) in latest {
            if let rows {
                union.add(rows, from: list, isToldNow: true)
            } else {
                union.note("\(list) is neither a list nor an object")
            }
        }
        var answer = VerifiedReceiptAnswer(
            environment: environment ?? endpoint, transactions: union.transactions())
        answer.idsInReceipt = idsInReceipt
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

    private static func renewals(in body: JSONObject) -> [PendingRenewal] {
        if let list = body.listOrOne("pending_renewal_info"), !list.contains(where: { $0 == nil }) {
            return list.compactMap { $0.map(PendingRenewal.init) }
        }
        // An iOS 6 answer holds the same fields at the top level.
        let renewal = PendingRenewal(body)
        return renewal.autoRenewStatus == nil ? [] : [renewal]
    }

    private static func shortened(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(120).map { $0.value < 0x20 ? " " : $0 }))
    }
}

/// The object `receipt`: an app receipt with its rows, or an iOS 6 receipt, which is itself a row.
private struct ReceiptBody {
    let bundleID: String?
    let receiptType: String?
    let applicationVersion: String?
    let creationDate: Date?
    let requestDate: Date?
    let rows: [TransactionRow]
    let isFlat: Bool
    /// What is wrong with `in_app`, if it is there and is no list.
    let flaw: String?

    init(_ receipt: JSONObject) {
        bundleID = receipt.text("bundle_id") ?? receipt.text("bid")
        receiptType = receipt.text("receipt_type")
        applicationVersion = receipt.text("application_version") ?? receipt.text("bvrs")
        creationDate = receipt.date("receipt_creation_date_ms", "receipt_creation_date")
        requestDate = receipt.date("request_date_ms", "request_date")
        isFlat = !receipt.contains("in_app") && (receipt.contains("bid") || receipt.contains("transaction_id"))
        if isFlat {
            rows = [TransactionRow(receipt)]
            flaw = nil
        } else {
            let list = receipt.listOrOne("in_app")
            rows = list?.map(TransactionRow.init) ?? []
            flaw = list == nil && receipt.says("in_app") ? "in_app is neither a list nor an object" : nil
        }
    }
}

extension PendingRenewal {
    init(_ renewal: JSONObject) {
        originalTransactionID = renewal.text("original_transaction_id")
        productID = renewal.text("product_id")
        autoRenewProductID = renewal.text("auto_renew_product_id")
        autoRenewStatus = renewal.text("auto_renew_status")
        expirationIntent = renewal.text("expiration_intent")
        isInBillingRetryPeriod = renewal.flag("is_in_billing_retry_period") ?? false
        gracePeriodExpiresDate = renewal.date("grace_period_expires_date_ms", "grace_period_expires_date")
    }
}
