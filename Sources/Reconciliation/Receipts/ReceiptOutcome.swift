/// What becomes of a receipt after it was tried.
public enum ReceiptOutcome: Hashable, Sendable {
    /// Genuine and read. It is watched while a transaction of it is white, and settled otherwise.
    case verified
    /// It stays in the inbox for a later night.
    case tryAgain(ReceiptProblem, String)
    /// It is tried no more, and is listed with its reason.
    case unusable(ReceiptProblem, String)
}
