public import Foundation

/// A likely lost order, as the report shows it.
public struct ReportedCase: Hashable, Sendable {
    public var key: TransactionKey
    public var assessment: Assessment
    public var originalID: TransactionID
    public var productID: ProductID
    public var productName: String?
    public var productType: ProductType?
    public var quantity: Int
    public var purchasedAt: Date
    /// What was paid: Apple's price if it told one, otherwise the list price times the quantity.
    public var price: Money?
    public var isListPrice = false
    /// What the client said of its device, as JSON text; from the latest upload that said anything.
    public var device: String?
    /// The source by which the purchase was verified.
    public var source: Source
    public var sightings: [Sighting] = []
    public var claims: [ClaimAttempt] = []
    /// Whether it was closed before, and this report's run opened it again.
    public var isReopened = false
    /// All cases of its customer; `nil` if it is the only one, or if nobody knows whose it is.
    public var customer: CustomerCases?
    /// The patterns of the run to which it belongs, by their positions.
    public var patterns: [Int] = []
    /// The subscription of whose periods without access it tells; the price is that of all these periods.
    public var subscription: ReportedSubscription?
    /// When it was first verified, and when last; `nil` if that is not known.
    public var firstVerifiedAt: Date?
    public var lastVerifiedAt: Date?
    /// By when the app's server must answer Apple, which asks whether it was delivered; `nil` if Apple does not.
    public var answerAppleBy: Date?
    /// The app's own orders that it may pay for, the likeliest first.
    public var orderIDs: [String] { assessment.orderIDs }
    /// The mark by which a decision names this case and the state that it is in.
    public var mark: CaseMark { CaseMark(key: key, standing: standing) }
    /// As `iap.case_mark` gives it.
    public var standing = ""
    /// Who of the support desk is on it; `nil` if nobody is.
    public var taking: CaseTaking?
    /// The delivery that the app's server is to make by itself; `nil` if there is none.
    public var redelivery: OpenRedelivery?
    /// What the support desk wrote about it, the earliest first.
    public var comments: [DeskComment] = []
    /// When a run first made it a case.
    public var openedAt: Date
    /// Whether that was this report's run.
    public var isNew: Bool

    /// Takes what every case has; whoever knows more sets it.
    public init(
        key: TransactionKey, assessment: Assessment, originalID: TransactionID, productID: ProductID, quantity: Int,
        purchasedAt: Date, source: Source, openedAt: Date, isNew: Bool
    ) {
        self.key = key
        self.assessment = assessment
        self.originalID = originalID
        self.productID = productID
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.source = source
        self.openedAt = openedAt
        self.isNew = isNew
    }
}

/// What a case tells of a subscription.
public struct ReportedSubscription: Hashable, Sendable {
    /// The transactions of the paid periods without access, the oldest first.
    public let periods: [TransactionID]
    /// The end of the latest period that is paid and not refunded.
    public let paidUntil: Date?
    /// Until when the app's server has granted access; `nil` if it never did.
    public let entitledUntil: Date?

    public init(periods: [TransactionID], paidUntil: Date?, entitledUntil: Date?) {
        self.periods = periods
        self.paidUntil = paidUntil
        self.entitledUntil = entitledUntil
    }
}
