/// Something that must always hold of the tables, whatever was killed, restarted or claimed meanwhile.
public enum IntegrityCheck: String, Sendable, CaseIterable {
    /// Every transaction is where its latest move took it, and is worth what that move says.
    case latestMoves = "latest_moves"
    /// Every move begins where the one before it ended.
    case movesInSequence = "moves_in_sequence"
    /// Every claim that got the goods is the delivery that the black table tells of.
    case deliveredClaims = "delivered_claims"
    /// Every delivery by a claim has its claim.
    case claimsOfDeliveries = "claims_of_deliveries"
    /// Every delivered non-consumable, or period of a subscription, is kept from being delivered again, unless a family
    /// shares it, and what is not delivered is not.
    case deliveredOriginals = "delivered_originals"
    /// Every order for which something was delivered is kept from being delivered for another purchase.
    case deliveredOrders = "delivered_orders"
    /// Every open case is of a transaction that is owed.
    case openCases = "open_cases"
    /// No receipt left the inbox without a transaction to show for it.
    case receiptsWithOutcome = "receipts_with_outcome"
    /// No receipt that waits is put off for longer than a night.
    case receiptsDue = "receipts_due"
    /// Every receipt in which a transaction was seen is in the inbox.
    case sightedReceipts = "sighted_receipts"
    /// Every transaction that was seen in a receipt is in the ledger.
    case sightedTransactions = "sighted_transactions"
    /// The control totals of every run balance, and each run opens with what the one before closed with.
    case controlTotals = "control_totals"
    /// The runs closed their books over exactly what entered and moved.
    case runTotals = "run_totals"
    /// The white table holds what follows from the last books and from what moved since.
    case whiteTotals = "white_totals"
    /// Finance's journal is what entered and moved, run by run and day by day, and explains what the ledger holds.
    case journal
    /// No transaction was changed by hand.
    case transactionSeals = "transaction_seals"
    /// No move was changed by hand.
    case moveSeals = "move_seals"
    /// No attempt to claim was changed by hand.
    case claimSeals = "claim_seals"
    /// No sighting was changed by hand.
    case sightingSeals = "sighting_seals"
    /// No entitlement was changed by hand.
    case entitlementSeals = "entitlement_seals"
    /// No order was changed by hand.
    case orderSeals = "order_seals"
    /// No `appAccountToken` was given to another user by hand.
    case tokenSeals = "token_seals"
    /// No receipt was changed by hand.
    case receiptSeals = "receipt_seals"
    /// No upload was changed by hand.
    case uploadSeals = "upload_seals"
    /// No payload was changed by hand.
    case payloads
    /// No event of the audit trail was changed by hand.
    case eventSeals = "event_seals"
    /// The trail's chain has no broken link.
    case chain
    /// Every erased event and move is what the erasure left.
    case erasures

    /// The checks that cost so little that every run makes them.
    public static let everyNight: [IntegrityCheck] = [.latestMoves]

    /// What should hold, in words.
    public var text: String {
        switch self {
        case .latestMoves: "each transaction is where its latest move took it"
        case .movesInSequence: "each move begins where the one before it ended"
        case .deliveredClaims: "each claim that got the goods is the one delivery of its transaction"
        case .claimsOfDeliveries: "each delivery by a claim has its claim"
        case .deliveredOriginals:
            "each delivered non-consumable, or period, and no other, is kept from being delivered again"
        case .deliveredOrders: "each order is kept from being delivered for two purchases"
        case .openCases: "each open case is of a white transaction"
        case .receiptsWithOutcome: "each verified receipt led to transactions"
        case .receiptsDue: "no receipt is put off for longer than a night"
        case .sightedReceipts: "each receipt in which a transaction was seen is there"
        case .sightedTransactions: "each transaction seen in a receipt is white, black or excluded"
        case .controlTotals: "the control totals of each run balance"
        case .runTotals: "each run closed its books over what entered and moved"
        case .whiteTotals: "the white table is what the books say"
        case .journal: "finance's journal is what entered and moved, and explains the ledger"
        case .transactionSeals: "no transaction was changed by hand"
        case .moveSeals: "no move was changed by hand"
        case .claimSeals: "no claim was changed by hand"
        case .sightingSeals: "no sighting was changed by hand"
        case .entitlementSeals: "no entitlement was changed by hand"
        case .orderSeals: "no order was changed by hand"
        case .tokenSeals: "no appAccountToken was given to another by hand"
        case .receiptSeals: "no receipt was changed by hand"
        case .uploadSeals: "no upload was changed by hand"
        case .payloads: "no payload was changed by hand"
        case .eventSeals: "no event was changed by hand"
        case .chain: "the trail's chain is unbroken"
        case .erasures: "each erased event and move is what the erasure left"
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

/// How far the trail's chain reaches.
public struct AuditTrail: Hashable, Sendable {
    /// The entries, moves and events that it covers.
    public let entries: Int
    /// The last link in hexadecimal. Kept outside of the database, it shows later whether the trail before it was
    /// written anew.
    public let end: String

    public init(entries: Int, end: String) {
        self.entries = entries
        self.end = end
    }
}
