import Foundation
public import Reconciliation

/// JSON for programs: the runs, and how the cases of two of them differ.
public enum HistoryJSON {
    /// The runs as one line: an object whose `runs` are in the order in which they were given.
    public static func text(of runs: [PastRun]) throws -> String {
        Printable.json(try String(json: ["runs": runs.map(Run.init)]))
    }

    /// How the cases of two runs differ, as one line.
    public static func text(of differences: CaseDifferences) throws -> String {
        Printable.json(try String(json: Differences(differences)))
    }

    private struct Run: Encodable {
        let runID: Int64
        let now: Date
        let state: String
        let exitCode: Int?
        let reason: String?
        let due, verified, tryAgain, unusable: Int
        /// What the report said; absent if the run has no report.
        let byLikelihood: [String: Int]?
        let new, reopened, pending: Int?
        let closed: [String: Int]?
        /// Milliunits by currency.
        let money: [String: Int64]?
        /// Cases that are left out of the money.
        let unpriced: Int?

        init(_ run: PastRun) {
            runID = run.runID
            now = run.now
            state = run.state.rawValue
            exitCode = run.exitCode
            reason = run.reason
            due = run.receipts.due
            verified = run.receipts.verified
            tryAgain = run.receipts.tryAgain
            unusable = run.receipts.unusable
            let cases = run.cases
            byLikelihood = cases.map { Self.named($0.byLikelihood) }
            new = cases?.new
            reopened = cases?.reopened
            pending = cases.map { _ in run.pending }
            closed = cases.map { Self.named($0.closed) }
            money = cases.map { MoneyText.byCurrency($0.money) }
            unpriced = cases?.unpriced
        }

        private static func named<Key: RawRepresentable<String>>(_ counts: [Key: Int]) -> [String: Int] {
            Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
        }
    }

    private struct Differences: Encodable {
        let from, to: Moment
        let opened, closed, judgedOtherwise: [Case]

        init(_ differences: CaseDifferences) {
            var (opened, closed, judged): ([Case], [Case], [Case]) = ([], [], [])
            for found in differences.cases {
                switch found.change {
                case .opened(let judgement): opened.append(Case(found.key, now: judgement))
                case .closed(let closing, let was): closed.append(Case(found.key, closing, was: was))
                case .judgedOtherwise(let was, let now): judged.append(Case(found.key, now: now, was: was))
                }
            }
            from = Moment(runID: differences.from.runID, now: differences.from.now)
            to = Moment(runID: differences.to.runID, now: differences.to.now)
            (self.opened, self.closed, judgedOtherwise) = (opened, closed, judged)
        }
    }

    private struct Moment: Encodable {
        let runID: Int64
        let now: Date
    }

    private struct Case: Encodable {
        let transactionID, bundleID, environment: String
        /// Absent if it was closed.
        let judgement: Judgement?
        /// Absent if it was opened.
        let was: Judgement?
        /// How it was closed.
        let how, by: String?
        let at: Date?

        init(
            _ key: TransactionKey, _ closing: CaseDifference.Closing? = nil, now: CaseDifference.Judgement? = nil,
            was: CaseDifference.Judgement? = nil
        ) {
            transactionID = key.id.text
            bundleID = key.bundleID.text
            environment = key.environment.rawValue
            judgement = now.map(Judgement.init)
            self.was = was.map(Judgement.init)
            how = closing?.how
            by = closing?.who
            at = closing?.at
        }
    }

    private struct Judgement: Encodable {
        let likelihood: String
        let reasons, ownerUserIds: [String]

        init(_ judgement: CaseDifference.Judgement) {
            likelihood = judgement.likelihood.rawValue
            reasons = judgement.reasons.map(\.rawValue)
            ownerUserIds = judgement.ownerUserIDs
        }
    }
}
