/// What a receipt met when it was tried, night after night.
public struct ReceiptTrouble: Hashable, Sendable {
    public let problem: ReceiptProblem
    /// On how many nights in a row.
    public let nights: Int

    public init(_ problem: ReceiptProblem, nights: Int) {
        self.problem = problem
        self.nights = nights
    }
}

extension ReceiptTrouble? {
    /// On how many nights in a row, this one included, a receipt has met this problem. Any other trouble in between,
    /// such as Apple's own, says nothing about it, and the count begins anew.
    public func nights(meetingNow problem: ReceiptProblem) -> Int {
        switch self {
        case .some(let trouble) where trouble.problem == problem: trouble.nights + 1
        default: 1
        }
    }
}
