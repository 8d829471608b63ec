import Foundation
import Reconciliation

/// The values of `report.json`. Everything that names the run itself is in `run`, except for `is_new`, so that two
/// reports of the same state differ only there.
enum JSONReport {
    struct Run: Encodable {
        let runID: Int64?
        let dryRun: Bool
        let startedAt, finishedAt, now: Date
        let timeZone, programVersion, outcome: String
        let reason: String?
        let receipts: [String: Int]
        let stages: [Stage]
        /// The last link of the trail's chain, in hexadecimal.
        let trailEnd: String?
        let leftOut: LeftOut?
        let toMend: [ToMend]
        let notJudged: [NotJudged]
        let sources: [Source]
        let heard: Heard?
        let asked: Asked?
        let redeliveries: Redeliveries?
        let hearings: [Hearing]
        let alerts: [Alert]
        let patterns: [CommonCause]
    }

    /// What was new in what Apple told.
    struct Heard: Encodable {
        let notices, onlyAppleTold: Int
    }

    /// The result of asking again about what was sold before.
    struct Asked: Encodable {
        let answered, onlyAppleTold, unanswered: Int

        init?(_ totals: AskingTotals) {
            guard totals.asked + totals.unanswered > 0 else { return nil }
            answered = totals.asked
            onlyAppleTold = totals.unknown
            unanswered = totals.unanswered
        }
    }

    /// A figure that has reached its threshold.
    struct Alert: Encodable {
        let alert, bundleID, text: String
    }

    /// The state of hearing an app.
    struct Hearing: Encodable {
        let bundleID: String
        let heardThrough, lastSignedAt: Date?
        let problem: String?
        let notSent, notTaken, deliveredSince: Int
        let isDrySpell: Bool

        init(_ hearing: HearingFigures, now: Date) {
            bundleID = hearing.bundleID.text
            heardThrough = hearing.heardThrough
            lastSignedAt = hearing.lastSignedAt
            problem = hearing.problem
            notSent = hearing.unsent
            notTaken = hearing.notTaken.map(\.notices).reduce(0, +)
            deliveredSince = hearing.deliveredSince
            isDrySpell = hearing.isDrySpell(at: now)
        }
    }

    /// A setting because of which purchases are not looked at.
    struct ToMend: Encodable {
        let cause, bundleID: String
        let receipts, transactions, notices: Int
        let detail: String?
    }

    /// What many cases have in common.
    struct CommonCause: Encodable {
        let cause, bundleID: String
        let productID: String?
        let trait, value: String?
        let from: Date
        let until: Date?
        let cases, customers, delivered: Int
    }

    /// The result of the latest pull of a source.
    struct Source: Encodable {
        let name: String
        let taken, alreadyThere, refused: Int
        let problem: String?
        /// The first of those that are not corrected yet.
        let refusedRows: [RefusedRow]
        let refusedLately: Int
    }

    struct RefusedRow: Encodable {
        let id, reason, what: String
    }

    /// Purchases that are paid but not looked at.
    struct NotJudged: Encodable {
        let bundleID: String
        let productType: String?
        let cause: String
        let transactions, customers: Int
        /// Milliunits by currency.
        let money: [String: Int64]
        let unpriced: Int
    }

    /// What other sessions had locked.
    struct LeftOut: Encodable {
        let transactions: [String]
        let receipts: Int
        /// Those that are known by their number.
        let receiptIds: [Int64]
        let buckets: [Int]
        let heldBy: [String]
    }

    struct Stage: Encodable {
        let name: String
        let seconds: Double
        let items: Int
    }

    struct Total: Encodable {
        let transactions, units: Int
        /// In hexadecimal digits: many readers of JSON would round a 64-bit number.
        let hash: String

        init(_ tally: Tally) {
            transactions = tally.transactions
            units = tally.units
            hash = Formats.hash(tally.hash)
        }
    }

    struct Receipt: Encodable {
        let receiptID: Int64
        let bundleID: String
        let userID, orderID, transactionID, device: String?
        let submittedAt: Date
        let attempts: Int
        let problem, detail, action: String
    }

    struct Suspicious: Encodable {
        let kind, bundleID: String
        let receiptID: Int64?
        let transactionID, environment, productID: String?
        let userIds: [String]
        let firstSeenAt: Date
        let detail: String
        let currency: String?
        let priceMilliunits: Int64?
    }
}

extension JSONReport.Receipt {
    init(_ receipt: TroubledReceipt) {
        self.init(
            receiptID: receipt.receiptID, bundleID: receipt.bundleID, userID: receipt.userID, orderID: receipt.orderID,
            transactionID: receipt.transactionID, device: receipt.device, submittedAt: receipt.submittedAt,
            attempts: receipt.attempts, problem: receipt.problem.rawValue, detail: receipt.detail,
            action: English().action(receipt.problem))
    }
}

extension JSONReport.Suspicious {
    init(_ found: Suspicion) {
        self.init(
            kind: found.kind.rawValue, bundleID: found.subject.bundleID, receiptID: found.subject.receiptID,
            transactionID: found.subject.transactionID, environment: found.subject.environment?.rawValue,
            productID: found.subject.productID?.text, userIds: found.userIDs,
            firstSeenAt: found.firstSeenAt, detail: found.detail, currency: found.price?.currency.text,
            priceMilliunits: found.price?.milliunits)
    }
}

extension JSONReport.Run {
    init(_ run: RunReport, _ programVersion: String) {
        var (outcome, reason): (String, String?) = ("complete", nil)
        if case .endedEarly(let why) = run.outcome { (outcome, reason) = ("ended_early", why) }
        self.init(
            runID: run.runID, dryRun: run.isDryRun, startedAt: run.startedAt, finishedAt: run.finishedAt,
            now: run.now, timeZone: run.timeZone.identifier, programVersion: programVersion, outcome: outcome,
            reason: reason, receipts: run.receipts.named,
            stages: run.stages.map { JSONReport.Stage(name: $0.name, seconds: $0.seconds, items: $0.items) },
            trailEnd: run.trail?.end, leftOut: run.leftOut.isEmpty ? nil : JSONReport.LeftOut(run.leftOut),
            toMend: run.toMend.map {
                JSONReport.ToMend(
                    cause: $0.cause.rawValue, bundleID: $0.bundleID, receipts: $0.receipts,
                    transactions: $0.transactions, notices: $0.notices, detail: $0.detail)
            },
            notJudged: run.unjudged.map(JSONReport.NotJudged.init), sources: run.sources.map(JSONReport.Source.init),
            heard: run.heard.map { JSONReport.Heard(notices: $0.fresh, onlyAppleTold: $0.unknown) },
            asked: JSONReport.Asked(run.asked), redeliveries: JSONReport.Redeliveries(run.redeliveries),
            hearings: run.hearings.map { JSONReport.Hearing($0, now: run.now) },
            alerts: run.alerts.map { JSONReport.Alert(alert: $0.name, bundleID: $0.bundleID.text, text: $0.alertText) },
            patterns: run.patterns.map(JSONReport.CommonCause.init))
    }
}

extension JSONReport.Source {
    fileprivate init(_ pull: SourcePull) {
        self.init(
            name: pull.name, taken: pull.taken, alreadyThere: pull.alreadyThere, refused: pull.refused,
            problem: pull.problem,
            refusedRows: pull.refusedRows.map {
                JSONReport.RefusedRow(id: $0.id, reason: $0.reason.rawValue, what: $0.what)
            },
            refusedLately: pull.refusedLately)
    }
}

extension JSONReport.CommonCause {
    fileprivate init(_ pattern: Pattern) {
        var productID: String?
        var (trait, value): (String?, String?)
        let cause: String
        switch pattern.cause {
        case .outage: cause = "outage"
        case .product(let id): (cause, productID) = ("product_never_delivered", id.text)
        case .device(let kind, let name): (cause, trait, value) = ("device", kind.rawValue, name)
        case .hours: cause = "hours"
        }
        self.init(
            cause: cause, bundleID: pattern.bundleID.text, productID: productID, trait: trait, value: value,
            from: pattern.from, until: pattern.until, cases: pattern.counts.cases,
            customers: pattern.counts.customers, delivered: pattern.counts.delivered)
    }
}

extension JSONReport.NotJudged {
    fileprivate init(_ unjudged: Unjudged) {
        self.init(
            bundleID: unjudged.bundleID.text, productType: unjudged.productType?.rawValue,
            cause: unjudged.cause.rawValue, transactions: unjudged.transactions, customers: unjudged.customers,
            money: MoneyText.byCurrency(unjudged.money), unpriced: unjudged.unpriced)
    }
}

extension JSONReport.LeftOut {
    fileprivate init(_ leftOut: LeftOut) {
        self.init(
            transactions: leftOut.transactions.sorted().map(\.text), receipts: leftOut.receipts,
            receiptIds: leftOut.receiptIDs.sorted(), buckets: leftOut.buckets.sorted(),
            heldBy: leftOut.holders.map(\.description))
    }
}

extension JSONReport {
    static func totals(_ totals: ControlTotals) -> [String: Total] {
        [
            "verified": Total(totals.verified), "newly_white": Total(totals.newlyWhite),
            "already_white": Total(totals.alreadyWhite), "already_black": Total(totals.alreadyBlack),
            "excluded": Total(totals.excluded), "opening_white": Total(totals.openingWhite), "new": Total(totals.new),
            "claimed": Total(totals.claimed), "resolved": Total(totals.resolved),
            "refunded": Total(totals.refunded), "closing_white": Total(totals.closingWhite),
        ]
    }
}
