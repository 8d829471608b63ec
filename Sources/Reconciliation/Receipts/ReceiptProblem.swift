/// Why a receipt could not be used, or not yet. The raw value is the error code in the table `receipts`.
public enum ReceiptProblem: String, Hashable, Sendable, Codable, CaseIterable {
    /// Nothing was uploaded.
    case empty
    /// The upload is larger than what is kept.
    case tooLarge = "too_large"
    /// Neither Apple nor the decoders can read it.
    case malformed
    /// Apple did not sign it.
    case notGenuine = "not_genuine"
    /// It is signed under a root, or in a way, that this program does not know: a forger's, or Apple's next one.
    case unknownSigner = "unknown_signer"
    /// It is genuine, and holds no purchase.
    case noTransactions = "no_transactions"
    /// It is genuine and names no purchase; with a key for the App Store Server API it leads to its customer's.
    case needsKey = "needs_key"
    /// Apple has no such account any more.
    case accountGone = "account_gone"
    /// Apple says it is not genuine, and Apple's own signature holds.
    case contradicted
    /// It is genuine, and does not hold the purchase that it was uploaded for.
    case transactionMissing = "transaction_missing"
    /// Apple asks to try again.
    case tryAgain = "try_again"
    /// Apple could not be reached.
    case appleUnreachable = "apple_unreachable"
    /// Apple's answer can't be read.
    case unreadableAnswer = "unreadable_answer"
    /// It needs a setting, such as a key of Apple's.
    case needsConfiguration = "needs_configuration"
    /// The configuration has no section for its app.
    case unknownApp = "unknown_app"
    /// Each night since it came in ended before its turn. The report alone says so: no row holds it.
    case noTurn = "no_turn"

    /// After how many nights in a row a receipt with this problem is given up; `nil` if it is no fault of the
    /// receipt's, which is tried as long as it takes.
    public var nights: Int? {
        switch self {
        case .empty, .tooLarge, .notGenuine: 1
        case .malformed, .contradicted: Patience.nightsOfMalformed
        case .accountGone: Patience.nightsOfAccountGone
        case .unknownSigner: Patience.nightsOfUnknownSigner
        case .transactionMissing: Patience.nightsWithoutNamed
        case .noTransactions, .needsKey: Patience.nightsWithoutTransactions
        case .tryAgain, .appleUnreachable, .unreadableAnswer, .needsConfiguration, .unknownApp, .noTurn: nil
        }
    }

    /// Whether Apple has answered all the same, and the receipt is genuine: it does not hold what was bought, or not yet.
    public var isAnswered: Bool {
        switch self {
        case .noTransactions, .needsKey, .transactionMissing: true
        default: false
        }
    }

    /// Whether asking again may still make the receipt usable, however often it was asked.
    public var mayPass: Bool { nights == nil }
}
