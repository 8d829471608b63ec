/// How many nights a receipt is tried again before its trouble counts as its own.
public enum Patience {
    /// Apple answers 21002 for good receipts in outages; one of February 2023 lasted a day.
    public static let nightsOfMalformed = 3
    /// One wrong answer of Apple's must not end what its signature vouches for.
    public static let nightsOfAccountGone = 3
    /// An empty `in_app` may fill when Apple records the purchase late; after a week it will not.
    public static let nightsWithoutTransactions = 7
    /// A purchase that a receipt was uploaded for and that it does not hold may come with Apple's next answer.
    public static let nightsWithoutNamed = 3
    /// When Apple signs under a new root, whoever runs an older program must hear of it, and bring in a newer one.
    public static let nightsOfUnknownSigner = 30

    /// What becomes of a receipt with this verdict that met that trouble before; `nil` if it was not tried.
    public static func outcome(of verdict: ReceiptVerdict, after trouble: ReceiptTrouble?) -> ReceiptOutcome? {
        switch verdict {
        case .notTried:
            nil
        case .verified(let receipt):
            outcome(of: receipt, after: trouble)
        case .problem(let problem, let detail):
            trouble.nights(meetingNow: problem) < problem.nights ?? .max
                ? .tryAgain(problem, detail) : .unusable(problem, detail)
        }
    }

    private static func outcome(of receipt: VerifiedReceipt, after trouble: ReceiptTrouble?) -> ReceiptOutcome {
        if let first = receipt.unreadable.first {
            let others = receipt.unreadable.count - 1
            return .tryAgain(.unreadableAnswer, others > 0 ? "\(first) (and \(others) more)" : first)
        }
        guard receipt.transactions.isEmpty else { return .verified }
        let empty = ReceiptVerdict.problem(.noTransactions, "its list of purchases is empty")
        return outcome(of: empty, after: trouble) ?? .verified
    }
}
