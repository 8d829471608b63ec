/// Takes the findings of a run one by one, so that no list of them is ever held in memory: first the head of the
/// report, then every case, the receipts, what is suspicious, and how sales differ. A customer's cases come together.
/// Customers are ordered by their likeliest case, then by their oldest, and so are the cases of each.
public protocol FindingsReceiver {
    /// The head of the report: all that does not belong to one finding. Begun once more, it begins anew.
    mutating func begin(_ run: RunReport) throws
    /// A likely lost order.
    mutating func add(_ lostOrder: ReportedCase) throws
    /// A receipt that could not be used.
    mutating func add(unusable receipt: TroubledReceipt) throws
    /// A receipt that could not be verified yet.
    mutating func add(unverified receipt: TroubledReceipt) throws
    mutating func add(_ suspicion: Suspicion) throws
    /// A day and product of which Apple sold another number than the tables saw; the latest first.
    mutating func add(_ difference: ComparedSales) throws
    /// Nothing more comes.
    mutating func finish() throws
}
