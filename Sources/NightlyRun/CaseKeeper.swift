import Job
import Ledger
import Reconciliation

/// Judges the pages of a sweep in their order, and stores their cases while the caller reads the next page.
actor CaseKeeper {
    private let context: RunContext
    private let beside: Beside
    private var given = GivenOrders()

    init(context: RunContext, beside: Beside) {
        self.context = context
        self.beside = beside
    }

    /// Judges and stores one page at a time: a caller waits for a page before handing over the next.
    ///
    /// - Returns: the cases whose transaction another session has locked.
    func keep(_ page: [CaseFacts]) async -> Result<[AssessedCase], LedgerError> {
        let context = context
        let cases = given.assess(page)
        @Sendable func store(_ session: LedgerSession) async throws(LedgerError) -> [AssessedCase] {
            try await session.store(cases, of: context)
        }
        do {
            return .success(try await beside.run(store) ?? cases)
        } catch {
            return .failure(error)
        }
    }
}

extension LedgerSession {
    /// Stores cases; gives those whose transaction another session has locked.
    func store(_ cases: [AssessedCase], of context: RunContext) async throws(LedgerError) -> [AssessedCase] {
        checkpoint(.casesAssessed)
        let locked = try await retryingConflicts(for: context.settings.conflictPatience) {
            () async throws(LedgerError) in
            try await store(cases, runID: context.runID, now: context.now)
        }
        checkpoint(.casesStored)
        guard !locked.isEmpty else { return [] }
        let ids = Set(locked)
        return cases.filter { ids.contains($0.key.id) }
    }
}

/// The orders that were matched to a transaction in this sweep: one order is never given to two. The oldest purchase
/// comes first, and so gets the order that fits it best.
struct GivenOrders {
    /// Hashes instead of ids, so that millions need little memory. If two orders have the same hash, a match is lost,
    /// but no money.
    private var hashes: Set<Int> = []

    mutating func assess(_ page: [CaseFacts]) -> [AssessedCase] {
        page.map { assess($0) }
    }

    private mutating func assess(_ facts: CaseFacts) -> AssessedCase {
        let bundleID = facts.key.bundleID
        let assessment = Assessment(of: facts) { hashes.contains(Self.hash($0, bundleID)) }
        if assessment.reasons.contains(.orderMatched), let order = assessment.orderIDs.first {
            hashes.insert(Self.hash(order, bundleID))
        }
        return AssessedCase(
            key: facts.key, assessment: assessment, periods: facts.subscription?.periods.map(\.id) ?? [])
    }

    private static func hash(_ order: String, _ bundleID: BundleID) -> Int {
        var hasher = Hasher()
        hasher.combine(ExactText(order))
        hasher.combine(bundleID)
        return hasher.finalize()
    }
}
