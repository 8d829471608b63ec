/// Something that must always hold of the tables, whatever was killed, restarted or claimed meanwhile.
public enum IntegrityCheck: String, Sendable, CaseIterable {
    /// No transaction is owed and delivered.
    case whiteAndBlack = "white_and_black"
    /// No transaction is owed and excluded.
    case whiteAndExcluded = "white_and_excluded"
    /// No transaction is delivered and excluded.
    case blackAndExcluded = "black_and_excluded"
    /// Every claim that got the goods is the delivery that the black table tells of, and the only one.
    case deliveredClaims = "delivered_claims"
    /// Every delivery by a claim has its claim.
    case claimsOfDeliveries = "claims_of_deliveries"
    /// Every delivery by a claim or by the support desk is in the audit trail.
    case eventsOfDeliveries = "events_of_deliveries"
    /// Every open case is of a transaction that is owed.
    case openCases = "open_cases"
    /// No receipt left the inbox without a transaction to show for it.
    case receiptsWithOutcome = "receipts_with_outcome"
    /// Every transaction that was seen in a receipt is white, black or excluded.
    case sightedTransactions = "sighted_transactions"
    /// The control totals of every run balance, and each run opens with what the one before closed with.
    case controlTotals = "control_totals"
    /// What the runs closed over is what was journalled.
    case movements
    /// The white table holds what the last books and the movements since say.
    case whiteTotals = "white_totals"
    /// No row of the white table was changed by hand.
    case whiteSeals = "white_seals"
    /// No row of the black table was changed by hand.
    case blackSeals = "black_seals"
    /// No excluded row was changed by hand.
    case excludedSeals = "excluded_seals"
    /// No attempt to claim was changed by hand.
    case claimSeals = "claim_seals"
    /// No event of the audit trail was changed or removed since it was sealed.
    case events
    /// No event was slipped in among those that were sealed long ago.
    case eventsInOrder = "events_in_order"
    /// The audit trail's chain has no broken link, and ends where it ended when it was last continued.
    case chain

    /// What cost so little that every run looks at it.
    public static let everyNight: [IntegrityCheck] = [.whiteAndBlack, .whiteAndExcluded, .deliveredClaims]

    /// What should hold, in words.
    public var text: String {
        switch self {
        case .whiteAndBlack: "no transaction is both white and black"
        case .whiteAndExcluded: "no transaction is both white and excluded"
        case .blackAndExcluded: "no transaction is both black and excluded"
        case .deliveredClaims: "each claim that got the goods is the one delivery of its transaction"
        case .claimsOfDeliveries: "each delivery by a claim has its claim"
        case .eventsOfDeliveries: "each delivery is in the audit trail"
        case .openCases: "each open case is of a white transaction"
        case .receiptsWithOutcome: "each verified receipt led to transactions"
        case .sightedTransactions: "each transaction seen in a receipt is white, black or excluded"
        case .controlTotals: "the control totals of each run balance"
        case .movements: "each run closed its books over what was journalled"
        case .whiteTotals: "the white table is what the books say"
        case .whiteSeals: "no white row was changed by hand"
        case .blackSeals: "no black row was changed by hand"
        case .excludedSeals: "no excluded row was changed by hand"
        case .claimSeals: "no claim was changed by hand"
        case .events: "no sealed event was changed or removed"
        case .eventsInOrder: "no event was slipped in among sealed ones"
        case .chain: "the audit trail's chain is unbroken"
        }
    }
}

/// What a check found.
public struct IntegrityFinding: Sendable, CustomStringConvertible {
    /// How many examples a finding names.
    public static let mostExamples = 10

    public let check: IntegrityCheck
    /// How often it does not hold.
    public let count: Int
    /// Ids of the first of these, as they stand in the tables.
    public let examples: [String]

    public init(_ check: IntegrityCheck, count: Int, examples: [String]) {
        self.check = check
        self.count = count
        self.examples = examples
    }

    public var isFine: Bool { count == 0 }

    public var description: String {
        guard !isFine else { return check.text }
        let more = count > examples.count ? " and \(count - examples.count) more" : ""
        return "it does not hold that \(check.text): \(examples.joined(separator: ", "))\(more)"
    }
}

/// How far the audit trail's chain reaches.
public struct AuditTrail: Sendable {
    /// Sealed events.
    public let events: Int
    /// The last link in hexadecimal. Kept outside of the database, it shows later whether the trail before it was
    /// written anew.
    public let end: String

    public init(events: Int, end: String) {
        self.events = events
        self.end = end
    }
}
