import Foundation
import Job
import Ledger
import Reconciliation
import Synchronization

/// What the workers of one run share.
final class Night: Sendable {
    let context: RunContext
    let verifier: Verifier
    private let progress: @Sendable (RunProgress) -> Void
    private let due: Int
    private let state: Mutex<State>

    private struct State {
        var budget: Int
        var receipts = ReceiptCounts()
        /// What other sessions' locks kept from being taken, in this pass over the buckets.
        var leftOut = LeftOut()
        /// The buckets that workers of this run came to own, in this pass.
        var owned: Set<Int> = []
        var troubles = Troubles()
        var waiting = Waiting()
        /// What no worker of this run has taken yet: the last first.
        var due: [DueReceipts] = []
    }

    /// The receipts that must be tried again, by what that says of the night.
    struct Waiting {
        /// Apple was not reached, or its answer is none: it is no fault of the receipt's.
        var forApple = 0
        /// Those of them for which Apple was not reached.
        var unreached = 0
        /// Nothing shows that they are Apple's: they have none of its forms, or nobody signed them whom this program
        /// knows. Anyone can upload such, and they say nothing of the night, however many there are.
        var notKnownAsApples = 0
    }

    /// - Parameters:
    ///   - due: how many receipts the run should try.
    ///   - limit: how many it may try at most; `nil` for no limit.
    init(_ context: RunContext, due: Int, limit: Int?, progress: @escaping @Sendable (RunProgress) -> Void) {
        self.context = context
        self.verifier = Verifier(context)
        self.due = due
        self.progress = progress
        self.state = Mutex(State(budget: limit ?? .max))
    }

    /// Whether no further batch should be taken.
    var isEnding: Bool { context.stop.isRequested || verifier.isAppleDown || state.withLock { $0.budget <= 0 } }

    /// Lays out what workers may take, in the order in which it has its turn.
    func offer(_ due: [DueReceipts]) {
        state.withLock { state in
            state.due = due.reversed()
            state.leftOut = LeftOut()
            state.owned = []
        }
    }

    /// The next buckets that no worker of this run has taken: as many as fill a batch of that many receipts together,
    /// because in a small night each holds a few. All of them are of the same turn.
    func takeBuckets(filling limit: Int) -> [DueReceipts] {
        state.withLock { state in
            var taken: [DueReceipts] = []
            var count = 0
            while let next = state.due.last,
                taken.allSatisfy({ $0.isTroubled == next.isTroubled && count + next.count <= limit })
            {
                taken.append(next)
                count += next.count
                state.due.removeLast()
            }
            return taken
        }
    }

    /// Frees the buckets of which a batch is the last. A dry run owns none.
    func free(_ batch: InboxBatch, _ session: LedgerSession) async throws(LedgerError) {
        guard batch.isLast, !context.isDryRun else { return }
        try await session.unlock(buckets: batch.buckets)
    }

    /// How many receipts the next batch may hold, taken off the run's limit; `giveBack` takes what it did not
    /// use.
    func reserve(_ wanted: Int) -> Int {
        state.withLock { state in
            let granted = min(wanted, max(0, state.budget))
            state.budget -= granted
            return granted
        }
    }

    func giveBack(_ unused: Int) {
        state.withLock { $0.budget += unused }
    }

    /// Counts a batch that was recorded.
    func count(_ totals: BatchTotals) {
        let tried = state.withLock { state in
            state.receipts.verified += totals.receipts.verified
            state.receipts.tryAgain += totals.receipts.tryAgain
            state.receipts.unusable += totals.receipts.unusable
            return state.receipts.tried
        }
        progress(RunProgress(stage: "verify", done: tried, total: due))
    }

    /// Remembers why receipts of a batch must be tried again, and logs a setting that must be mended when it is first
    /// met.
    func note(_ groups: [VerifiedGroup]) {
        for item in groups {
            if case .notTried = item.verdict { continue }
            let waiting = item.waiting
            state.withLock { $0.waiting.add(waiting, isOfNoForm: item.isOfNoForm) }
            let bundleID = item.group.bundleID
            guard case .problem(let problem, let text) = item.verdict else {
                state.withLock { $0.troubles.judge(bundleID) }
                continue
            }
            guard !waiting.isEmpty,
                state.withLock({ $0.troubles.add(waiting.count, of: bundleID, problem, text) }),
                problem.needsAnOperator
            else { continue }
            context.log(
                .warning, "receipts can't be verified until a setting is mended",
                fields: ["bundle_id": bundleID, "error": text])
        }
    }

    /// The trouble that most of the receipts to be tried again met.
    var greatestTrouble: String? { state.withLock { $0.troubles.greatest } }

    /// The receipts that must be tried again.
    var waiting: Waiting { state.withLock { $0.waiting } }

    /// Leaves receipts and transactions because of another session's lock: they stay due.
    func leave(receipts: [Int64], transactions: [TransactionID] = []) {
        state.withLock { state in
            state.leftOut.receipts += receipts.count
            state.leftOut.receiptIDs.formUnion(receipts)
            state.leftOut.transactions.formUnion(transactions)
        }
    }

    /// Remembers the buckets that a worker of this run came to own.
    func own(_ buckets: Set<Int>) {
        state.withLock { $0.owned.formUnion(buckets) }
    }

    /// Leaves a bucket that another session owns.
    func leave(bucket: Int) {
        _ = state.withLock { $0.leftOut.buckets.insert(bucket) }
    }

    /// What other sessions' locks kept from being taken to the end. A bucket has two turns, and the other may have been
    /// in the hands of a worker of this run just then: that is nobody's lock but this run's.
    var leftOut: LeftOut {
        state.withLock { state in
            var leftOut = state.leftOut
            leftOut.buckets.subtract(state.owned)
            return leftOut
        }
    }

    /// Why nothing of some app could be verified.
    var unverifiable: String? { state.withLock { $0.troubles.unverifiable } }

    /// What became of the receipts so far.
    var receipts: ReceiptCounts {
        var counts = state.withLock { $0.receipts }
        counts.due = due
        return counts
    }
}

extension VerifiedGroup {
    /// What those of its receipts that must be tried again met.
    fileprivate var waiting: [ReceiptProblem] {
        group.receipts.compactMap { receipt in
            guard case .tryAgain(let problem, _) = Patience.outcome(of: verdict, after: receipt.trouble) else {
                return nil
            }
            return problem
        }
    }
}

extension Night.Waiting {
    fileprivate mutating func add(_ problems: [ReceiptProblem], isOfNoForm: Bool) {
        for problem in problems {
            switch problem {
            case _ where isOfNoForm, .unknownSigner: notKnownAsApples += 1
            case _ where problem.isAnswered: break
            default:
                forApple += 1
                if problem == .appleUnreachable { unreached += 1 }
            }
        }
    }
}
