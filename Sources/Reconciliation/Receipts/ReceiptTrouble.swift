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
    /// On how many nights in a row a receipt has met a problem that it meets once more: any other trouble in between, such
    /// as Apple's own, says nothing of it, and it is counted anew.
    public func nights(meetingNow problem: ReceiptProblem) -> Int {
        switch self {
        case .some(let trouble) where trouble.problem == problem: trouble.nights + 1
        default: 1
        }
    }
}
