/// What a customer of the world goes through.
enum Scenario: String, Sendable, CaseIterable {
    case ordinary
    // A purchase is lost.
    case rodeAlong = "S01"
    case neverClaimed = "S02"
    case finishedUndelivered = "S08"
    case twoUsers = "S11"
    case oneOfThreeClaimed = "S12"
    case manyUploaders = "S16"
    case missedRenewal = "S19"
    case twentyCopies = "S20"
    case rolledBack = "S22"
    case oldReceipt = "S24"
    case refundedTomorrow = "S17 later"
    // Nothing is lost.
    case unreadable = "S06"
    case noTransactions = "S07"
    case deliveredUnfinished = "S13"
    case sandboxReceipt = "S14"
    case foreignBundle = "S15"
    case refundedBefore = "S17 before"
    case refundedAfter = "S17 after"
    case restored = "S18"
    case pending = "S21"
    case familyShared = "S26"
    case accountGone = "account gone"
    // Lost, and only the App Store Server API tells of it.
    case overwrittenReceipt = "S09"
    // Lost, and handed in as what `verifyReceipt` can't read.
    case signedTransaction = "S25"

    /// One of so many customers meets with something; all of it comes in turn, so that no world lacks any.
    ///
    /// - Parameter hasSignedTransactions: whether some customers have clients of StoreKit 2 (S25).
    static func of(customer number: Int, hasSignedTransactions: Bool = false, rarity: Int = 15) -> Scenario {
        guard number % rarity == rarity / 2 else { return .ordinary }
        let special = allCases.dropFirst().filter { hasSignedTransactions || $0 != .signedTransaction }
        return special[special.startIndex + number / rarity % special.count]
    }
}
