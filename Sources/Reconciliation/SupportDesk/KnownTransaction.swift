public import Foundation

/// One transaction with everything that the ledger knows of it.
public struct KnownTransaction: Hashable, Sendable {
    public let key: TransactionKey
    public let originalID: TransactionID
    public let productID: ProductID
    public let productName: String?
    public let productType: ProductType?
    public let quantity: Int
    public let purchasedAt: Date
    /// What was paid: Apple's price if it told one, otherwise the list price times the quantity.
    public let price: Money?
    public let isListPrice: Bool
    public let source: Source
    public var place: Place
    /// In which receipts it was seen, those uploaded for it first.
    public var sightings: [Sighting] = []
    /// Every claim of it, the earliest first.
    public var claims: [ClaimAttempt] = []
    public var lostOrder: KnownCase?
    /// The delivery that the app's server is to make by itself; `nil` if there is none.
    public var redelivery: OpenRedelivery?
    /// Whose it is by what is known now. If it is owed, all who may claim it, and the owners that the last night saw.
    public var owners: [String] = []
    /// What was done about it, the earliest first.
    public var events: [KnownEvent] = []

    /// Where a transaction is, and what that place knows.
    public enum Place: Hashable, Sendable {
        case white(Owed)
        case black(Delivery)
        case excluded(NotOwed)
    }

    public init(
        key: TransactionKey, originalID: TransactionID, productID: ProductID, productName: String?,
        productType: ProductType?, quantity: Int, purchasedAt: Date, price: Money?, isListPrice: Bool, source: Source,
        place: Place
    ) {
        self.key = key
        self.originalID = originalID
        self.productID = productID
        self.productName = productName
        self.productType = productType
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.price = price
        self.isListPrice = isListPrice
        self.source = source
        self.place = place
    }

    /// Whether evidence that came since speaks for another user than the owner whom the last run named, or for anybody
    /// of whom it did not know, where it named nobody.
    public var isContested: Bool {
        guard let assessment = lostOrder?.assessment else { return false }
        switch assessment.owner {
        case .user(let user): return owners.contains { ExactText($0) != ExactText(user) }
        case .unknown:
            // Whoever was too uncertain to be named is asked, as the report says.
            let known = assessment.candidates.map(\.userID)
            return owners.contains { !known.containsExactly($0) }
        case .ambiguous: return false
        }
    }
}

/// What the white table knows of a transaction: paid, and claimed by nobody yet.
public struct Owed: Hashable, Sendable {
    public let firstSeenAt: Date
    public let verifiedAt: Date
    /// On how many nights Apple confirmed it while nobody claimed it.
    public let nightsConfirmed: Int
    /// The user for whom the app's own server admitted it.
    public let admittedFor: String?
    /// Until when the client may still come for it and it is no case; `nil` once that has passed.
    public var graceEndsAt: Date?

    public init(
        firstSeenAt: Date, verifiedAt: Date, nightsConfirmed: Int, admittedFor: String?, graceEndsAt: Date? = nil
    ) {
        self.firstSeenAt = firstSeenAt
        self.verifiedAt = verifiedAt
        self.nightsConfirmed = nightsConfirmed
        self.admittedFor = admittedFor
        self.graceEndsAt = graceEndsAt
    }
}

/// What the black table knows of a transaction: its goods were delivered.
public struct Delivery: Hashable, Sendable {
    /// `nil` if the support desk did not say.
    public let userID: String?
    public let orderID: String?
    public let deliveredBy: DeliveryWay
    public let deliveredAt: Date
    /// When Apple refunded it all the same.
    public let refundedAt: Date?

    public init(userID: String?, orderID: String?, deliveredBy: DeliveryWay, deliveredAt: Date, refundedAt: Date?) {
        self.userID = userID
        self.orderID = orderID
        self.deliveredBy = deliveredBy
        self.deliveredAt = deliveredAt
        self.refundedAt = refundedAt
    }
}

/// What the table of exclusions knows of a transaction: verified, and not owed.
public struct NotOwed: Hashable, Sendable {
    /// Why it is not owed.
    public enum Cause: Hashable, Sendable {
        case rule(Exclusion)
        /// The support desk found that nothing is owed.
        case dismissed
    }

    public let cause: Cause
    public let excludedAt: Date
    public let refundedAt: Date?
    /// The app that the receipt names, if it is another's.
    public let foundBundleID: String?

    public init(cause: Cause, excludedAt: Date, refundedAt: Date?, foundBundleID: String?) {
        self.cause = cause
        self.excludedAt = excludedAt
        self.refundedAt = refundedAt
        self.foundBundleID = foundBundleID
    }

    /// Whether the customer has the money back. What Apple takes back in Family Sharing or in the sandbox was paid by
    /// nobody here.
    public var isRefund: Bool {
        switch cause {
        case .rule(.refunded): true
        case .rule(.familyShared), .rule(.sandbox): false
        case .rule, .dismissed: refundedAt != nil
        }
    }
}

/// A case as the last run judged it, open or closed.
public struct KnownCase: Hashable, Sendable {
    public let assessment: Assessment
    public let openedAt: Date
    /// How it ended; `nil` while it is open.
    public let closing: Closing?

    /// How, by whom and when the case was closed.
    public struct Closing: Hashable, Sendable {
        public let how: CaseEnd
        /// `claim:USER`, `run N`, or the person who resolved it.
        public let who: String
        public let at: Date
        public let note: String?

        public init(how: CaseEnd, who: String, at: Date, note: String?) {
            self.how = how
            self.who = who
            self.at = at
            self.note = note
        }
    }

    public init(assessment: Assessment, openedAt: Date, closing: Closing?) {
        self.assessment = assessment
        self.openedAt = openedAt
        self.closing = closing
    }
}

/// One entry of the audit trail.
public struct KnownEvent: Hashable, Sendable {
    public let happenedAt: Date
    /// `claimed`, `resolved`, `reopened`, or another word.
    public let kind: String
    /// The person, the database login or the job that did it.
    public let actor: String
    public let runID: Int64?
    /// What else was written down, by its name: `as`, `note`, `user_id` …
    public let details: [String: String]

    public init(happenedAt: Date, kind: String, actor: String, runID: Int64?, details: [String: String]) {
        self.happenedAt = happenedAt
        self.kind = kind
        self.actor = actor
        self.runID = runID
        self.details = details
    }
}
