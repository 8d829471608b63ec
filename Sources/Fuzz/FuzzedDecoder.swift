import Importing

/// A decoder that reads what strangers wrote, with what it must hold to whatever it is given: it may refuse, but not
/// crash, hang or grow, nor take for genuine what nobody signed.
enum FuzzedDecoder: String, CaseIterable {
    /// Whatever a client uploads, in whichever form.
    case upload
    /// The container of an app receipt, CMS.
    case appReceipt = "app-receipt"
    /// What stands in it, ASN.1, of which a signature lets only genuine ones through.
    case appReceiptPayload = "app-receipt-payload"
    case transactionReceipt = "ios6-receipt"
    case jws
    /// What stands in it, JSON.
    case jwsPayload = "jws-payload"
    /// Whatever Apple signs, told apart, and what a notification carries.
    case notification
    case verifyReceipt = "verify-receipt"
    case salesReport = "sales-report"
    case importCSV = "import-csv"
    case importJSONLines = "import-jsonl"
    case configuration

    /// The decoder, ready to be called again and again.
    func decode() -> @Sendable ([UInt8]) -> Void {
        switch self {
        case .upload: ReceiptFuzzing().uploads()
        case .appReceipt: ReceiptFuzzing().appReceipts()
        case .appReceiptPayload: ReceiptFuzzing().appReceiptPayloads()
        case .transactionReceipt: ReceiptFuzzing().transactionReceipts()
        case .jws: ReceiptFuzzing().signedTransactions()
        case .jwsPayload: ReceiptFuzzing().signedPayloads()
        case .notification: ReceiptFuzzing().notifications()
        case .verifyReceipt: AnswerFuzzing.decode
        case .salesReport: SalesFuzzing.decode
        case .importCSV: ImportFuzzing(format: .csv).decode
        case .importJSONLines: ImportFuzzing(format: .jsonl).decode
        case .configuration: ConfigurationFuzzing.decode
        }
    }

    /// Good inputs to begin with.
    func seeds() -> [[UInt8]] {
        switch self {
        case .upload: ReceiptSeeds().uploads
        case .appReceipt: ReceiptSeeds().appReceipts
        case .appReceiptPayload: ReceiptSeeds().appReceiptPayloads
        case .transactionReceipt: ReceiptSeeds().transactionReceipts
        case .jws: ReceiptSeeds().signedTransactions
        case .jwsPayload: ReceiptSeeds().signedPayloads
        case .notification: ReceiptSeeds().notifications
        case .verifyReceipt: AnswerFuzzing.seeds
        case .salesReport: SalesFuzzing.seeds
        case .importCSV, .importJSONLines: ImportFuzzing(format: self == .importCSV ? .csv : .jsonl).seeds
        case .configuration: ConfigurationFuzzing.seeds
        }
    }
}
