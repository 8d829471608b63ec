import Foundation
import Reconciliation

/// The values of `report.json`. Everything that names the run itself stands under `run`, but for `is_new`, so that
/// two reports of the same state differ only there.
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

    /// What was new of what Apple tells.
    struct Heard: Encodable {
        let notices, onlyAppleTold: Int
    }

    /// What asking again about what was sold before came to.
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

    /// How hearing an app goes.
    struct Hearing: Encodable {
        let bundleID: String
        let heardThrough, lastSignedAt: Date?
        let problem: String?
        let notSent, notApples, deliveredSince: Int
        let isDrySpell: Bool

        init(_ hearing: HearingFigures, now: Date) {
            bundleID = hearing.bundleID.text
            heardThrough = hearing.heardThrough
            lastSignedAt = hearing.lastSignedAt
            problem = hearing.problem
            notSent = hearing.unsent
            notApples = hearing.refused
            deliveredSince = hearing.deliveredSince
            isDrySpell = hearing.isDrySpell(at: now)
        }
    }

    /// A setting because of which purchases are not looked at.
    struct ToMend: Encodable {
        let cause, bundleID: String
        let receipts, transactions: Int
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

    /// What the latest pull of a source came to.
    struct Source: Encodable {
        let name: String
        let taken, alreadyThere, refused: Int
        let problem: String?
        /// The first of those that are not mended yet.
        let refusedRows: [RefusedRow]
        let refusedLately: Int
    }

    struct RefusedRow: Encodable {
        let id, reason, what: String
    }

    /// Purchases that are paid and not looked at.
    struct NotJudged: Encodable {
        let bundleID: String
        let productType: String?
        let cause: String
        let transactions, customers: Int
        /// Milliunits by currency.
        let money: [String: Int64]
    }

    /// A subscription's periods without access.
    struct Subscription: Encodable {
        let transactionIds: [String]
        let paidUntil, entitledUntil: Date?
    }

    /// What other sessions had locked.
    struct LeftOut: Encodable {
        let transactions: [String]
        let receipts: Int
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
        /// As hexadecimal digits: many readers of JSON would round a number of 64 bits.
        let hash: String

        init(_ tally: Tally) {
            transactions = tally.transactions
            units = tally.units
            hash = Formats.hash(tally.hash)
        }
    }

    struct Case: Encodable {
        let transactionID, bundleID, environment, originalTransactionID, productID: String
        let productName, productType: String?
        let quantity: Int
        let purchasedAt: Date
        let priceMilliunits: Int64?
        let currency: String?
        let isListPrice: Bool
        let subscription: Subscription?
        let likelihood: String
        let reasons: [String]
        let owner: String?
        let candidates: [String]
        let evidence: [Evidence]
        let action: String
        let orderIds: [String]
        let device: String?
        let source: String
        let openedAt: Date
        let firstVerifiedAt, lastVerifiedAt, answerAppleBy: Date?
        let taken: Taken?
        let comments: [Comment]?
        let isNew, isReopened: Bool
        let patterns: [Int]?
        let sightings: [Seen]
        let claims: [Claim]
    }

    /// Who of the support desk is on a case.
    struct Taken: Encodable {
        let by: String
        let since: Date
    }

    /// What the support desk wrote about a case.
    struct Comment: Encodable {
        let at: Date
        let by, text: String
    }

    struct Evidence: Encodable {
        let userID: String
        let kinds: [String]
    }

    struct Seen: Encodable {
        let receiptID: Int64
        let userID, orderID: String?
        let isNamed: Bool
        let uploadedAt: Date
    }

    struct Claim: Encodable {
        let outcome, userID: String
        let orderID: String?
        let attemptedAt: Date
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
    }
}

extension JSONReport.Case {
    init(_ found: ReportedCase) {
        self.init(
            transactionID: found.key.id.text, bundleID: found.key.bundleID.text,
            environment: found.key.environment.rawValue, originalTransactionID: found.originalID.text,
            productID: found.productID.text, productName: found.productName,
            productType: found.productType?.rawValue, quantity: found.quantity, purchasedAt: found.purchasedAt,
            priceMilliunits: found.price?.milliunits, currency: found.price?.currency.text,
            isListPrice: found.isListPrice, subscription: found.subscription.map(JSONReport.Subscription.init),
            likelihood: found.assessment.likelihood.rawValue,
            reasons: found.assessment.reasons.map(\.rawValue), owner: found.assessment.owner.user,
            candidates: found.assessment.owner.candidates,
            evidence: found.assessment.candidates.map { candidate in
                JSONReport.Evidence(userID: candidate.userID, kinds: candidate.evidence.map(\.rawValue))
            }, action: found.assessment.action.rawValue,
            orderIds: found.orderIDs, device: found.device, source: found.source.rawValue, openedAt: found.openedAt,
            firstVerifiedAt: found.firstVerifiedAt, lastVerifiedAt: found.lastVerifiedAt,
            answerAppleBy: found.answerAppleBy,
            taken: found.taking.map { JSONReport.Taken(by: $0.by, since: $0.since) },
            comments: found.comments.isEmpty
                ? nil : found.comments.map { JSONReport.Comment(at: $0.at, by: $0.by, text: $0.text) },
            isNew: found.isNew, isReopened: found.isReopened,
            patterns: found.patterns.isEmpty ? nil : found.patterns,
            sightings: found.sightings.map {
                JSONReport.Seen(
                    receiptID: $0.receiptID, userID: $0.userID, orderID: $0.orderID, isNamed: $0.isNamed,
                    uploadedAt: $0.uploadedAt)
            },
            claims: found.claims.map {
                JSONReport.Claim(
                    outcome: $0.outcome.rawValue, userID: $0.userID, orderID: $0.orderID,
                    attemptedAt: $0.attemptedAt)
            })
    }
}

extension JSONReport.Receipt {
    init(_ notice: ReceiptNotice) {
        self.init(
            receiptID: notice.receiptID, bundleID: notice.bundleID, userID: notice.userID, orderID: notice.orderID,
            transactionID: notice.transactionID, device: notice.device, submittedAt: notice.submittedAt,
            attempts: notice.attempts, problem: notice.problem.rawValue, detail: notice.detail,
            action: English().action(notice.problem))
    }
}

extension JSONReport.Suspicious {
    init(_ found: Suspicion) {
        self.init(
            kind: found.kind.rawValue, bundleID: found.subject.bundleID, receiptID: found.subject.receiptID,
            transactionID: found.subject.transactionID, environment: found.subject.environment?.rawValue,
            productID: found.subject.productID?.text, userIds: found.userIDs,
            firstSeenAt: found.firstSeenAt, detail: found.detail)
    }
}

extension JSONReport.Run {
    init(_ run: RunReport, _ programVersion: String) {
        var (outcome, reason): (String, String?) = ("complete", nil)
        if case .endedEarly(let why) = run.outcome { (outcome, reason) = ("ended_early", why) }
        let receipts = run.receipts
        self.init(
            runID: run.runID, dryRun: run.isDryRun, startedAt: run.startedAt, finishedAt: run.finishedAt,
            now: run.now, timeZone: run.timeZone.identifier, programVersion: programVersion, outcome: outcome,
            reason: reason,
            receipts: [
                "due": receipts.due, "verified": receipts.verified, "try_again": receipts.tryAgain,
                "unusable": receipts.unusable, "left": receipts.left,
            ],
            stages: run.stages.map { JSONReport.Stage(name: $0.name, seconds: $0.seconds, items: $0.items) },
            trailEnd: run.trail?.end, leftOut: run.leftOut.isEmpty ? nil : JSONReport.LeftOut(run.leftOut),
            toMend: run.toMend.map {
                JSONReport.ToMend(
                    cause: $0.cause.rawValue, bundleID: $0.bundleID, receipts: $0.receipts,
                    transactions: $0.transactions, detail: $0.detail)
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
            refusedRows: pull.refusedRows.map { JSONReport.RefusedRow(id: $0.id, reason: $0.reason, what: $0.text) },
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
            money: Dictionary(
                unjudged.money.map { ($0.currency.text, $0.milliunits) }, uniquingKeysWith: { first, _ in first }))
    }
}

extension JSONReport.Subscription {
    fileprivate init(_ subscription: ReportedSubscription) {
        self.init(
            transactionIds: subscription.periods.map(\.text), paidUntil: subscription.paidUntil,
            entitledUntil: subscription.entitledUntil)
    }
}

extension JSONReport.LeftOut {
    fileprivate init(_ leftOut: LeftOut) {
        self.init(
            transactions: leftOut.transactions.sorted().map(\.text), receipts: leftOut.receipts,
            buckets: leftOut.buckets.sorted(), heldBy: leftOut.holders.map(\.description))
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
