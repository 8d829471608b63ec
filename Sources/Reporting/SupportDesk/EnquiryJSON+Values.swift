import Foundation
import Reconciliation

extension EnquiryJSON {
    /// The words that a person reads, with times in UTC.
    fileprivate static var text: EnquiryText { EnquiryText(timeZone: .gmt, language: .english) }
}

extension EnquiryJSON.Answer {
    init(_ enquiry: Enquiry) {
        let verdict = DeskVerdict(of: enquiry)
        self.init(
            id: enquiry.id, verdict: verdict.kind, sentence: EnquiryJSON.text.sentence(verdict),
            transactions: enquiry.transactions.map(EnquiryJSON.Transaction.init),
            appleTransactions: enquiry.unseenTransactions.map(EnquiryJSON.AppleTransaction.init),
            apple: EnquiryJSON.Apple(enquiry.apple), orders: enquiry.orders.map(EnquiryJSON.Order.init),
            user: enquiry.user.map(EnquiryJSON.User.init),
            claims: enquiry.strayClaims.map {
                EnquiryJSON.Claim($0.attempt, transactionID: $0.transactionID, bundleID: $0.bundleID)
            },
            receipts: enquiry.troubledReceipts.map(EnquiryJSON.Receipt.init), isCut: enquiry.isCut)
    }
}

extension DeskVerdict {
    /// The verdict's name, for programs.
    fileprivate var kind: String {
        switch self {
        case .delivered: "delivered"
        case .owed, .contested: "owed"
        case .redelivering: "redelivering"
        case .pending: "pending"
        case .refunded: "refunded"
        case .notOwed: "not_owed"
        case .unseen: "unseen"
        case .waiting: "waiting"
        case .unusable: "unusable"
        case .unpaidOrder: "unpaid_order"
        case .nothingOpen: "nothing_open"
        case .notPaid: "not_paid"
        case .several: "several"
        case .unknown: "unknown"
        }
    }
}

extension EnquiryJSON.Transaction {
    fileprivate init(_ known: KnownTransaction) {
        var (place, owed, delivery, excluded) = ("white", nil as Owed?, nil as Delivery?, nil as NotOwed?)
        switch known.place {
        case .white(let facts): owed = facts
        case .black(let facts): (place, delivery) = ("black", facts)
        case .excluded(let facts): (place, excluded) = ("excluded", facts)
        }
        let verdict = DeskVerdict(of: known)
        self.init(
            transactionID: known.key.id.text, bundleID: known.key.bundleID.text,
            environment: known.key.environment.rawValue, originalTransactionID: known.originalID.text,
            productID: known.productID.text, productName: known.productName, productType: known.productType?.rawValue,
            quantity: known.quantity, purchasedAt: known.purchasedAt, priceMilliunits: known.price?.milliunits,
            currency: known.price?.currency.text, isListPrice: known.isListPrice, source: known.source.rawValue,
            place: place, verdict: verdict.kind, sentence: EnquiryJSON.text.sentence(verdict),
            firstSeenAt: owed?.firstSeenAt, verifiedAt: owed?.verifiedAt, graceEndsAt: owed?.graceEndsAt,
            nightsConfirmed: owed?.nightsConfirmed, admittedFor: owed?.admittedFor,
            delivery: delivery.map { EnquiryJSON.Delivered($0) }, exclusion: excluded?.cause.word,
            excludedAt: excluded?.excludedAt, refundedAt: excluded?.refundedAt ?? delivery?.refundedAt,
            foundBundleID: excluded?.foundBundleID, sightings: known.sightings.map(EnquiryJSON.Seen.init),
            claims: known.claims.map { EnquiryJSON.Claim($0) },
            lostOrder: known.lostOrder.map { EnquiryJSON.LostOrder($0, of: known) },
            owners: owed.map { _ in known.owners },
            redelivery: known.redelivery.map { EnquiryJSON.Redelivery($0) },
            events: known.events.map(EnquiryJSON.Event.init))
    }
}

extension NotOwed.Cause {
    fileprivate var word: String {
        switch self {
        case .rule(let exclusion): exclusion.rawValue
        case .dismissed: "dismissed"
        }
    }
}

extension EnquiryJSON.Delivered {
    fileprivate init(_ delivery: Delivery, of listed: KnownUser.Delivered? = nil) {
        self.init(
            transactionID: listed?.key.id.text, bundleID: listed?.key.bundleID.text,
            environment: listed?.key.environment.rawValue, productID: listed?.productID.text, userID: delivery.userID,
            orderID: delivery.orderID, deliveredBy: delivery.deliveredBy.rawValue, deliveredAt: delivery.deliveredAt,
            refundedAt: delivery.refundedAt)
    }
}

extension EnquiryJSON.Seen {
    fileprivate init(_ sighting: Sighting) {
        self.init(
            receiptID: sighting.receiptID, userID: sighting.userID, orderID: sighting.orderID,
            isNamed: sighting.isNamed, isInReceipt: sighting.isInReceipt, uploadedAt: sighting.uploadedAt)
    }
}

extension EnquiryJSON.Claim {
    fileprivate init(_ attempt: ClaimAttempt, transactionID: String? = nil, bundleID: String? = nil) {
        self.init(
            transactionID: transactionID, bundleID: bundleID, outcome: attempt.outcome.rawValue,
            userID: attempt.userID, orderID: attempt.orderID, attemptedAt: attempt.attemptedAt)
    }
}

extension EnquiryJSON.LostOrder {
    fileprivate init(_ known: KnownCase, of purchase: KnownTransaction) {
        let assessment = known.assessment
        self.init(
            likelihood: assessment.likelihood.rawValue, reasons: assessment.reasons.map(\.rawValue),
            sentences: assessment.reasons.map(English().sentence), action: assessment.action.rawValue,
            advice: English().action(assessment, redelivery: purchase.redelivery),
            owner: assessment.owner.user,
            candidates: assessment.candidates.map {
                EnquiryJSON.Candidate(userID: $0.userID, evidence: $0.evidence.map(\.rawValue))
            },
            orderIds: assessment.orderIDs, openedAt: known.openedAt, closedAs: known.closing?.how.rawValue,
            closedBy: known.closing?.who, note: known.closing?.note, closedAt: known.closing?.at)
    }
}

extension EnquiryJSON.Redelivery {
    fileprivate init(_ redelivery: OpenRedelivery) {
        self.init(
            userID: redelivery.userID, orderedAt: redelivery.orderedAt, orderedBy: redelivery.orderedBy,
            tries: redelivery.tries, takenAt: redelivery.takenAt)
    }
}

extension EnquiryJSON.Event {
    fileprivate init(_ event: KnownEvent) {
        self.init(
            happenedAt: event.happenedAt, kind: event.kind, actor: event.actor, runID: event.runID,
            details: event.details)
    }
}

extension EnquiryJSON.AppleTransaction {
    fileprivate init(_ told: ApplesTransaction) {
        let transaction = told.transaction
        self.init(
            transactionID: told.key.id.text, bundleID: told.key.bundleID.text,
            environment: told.key.environment.rawValue, productID: transaction.productID.text,
            quantity: transaction.quantity, purchasedAt: transaction.purchasedAt, refundedAt: transaction.refundedAt,
            priceMilliunits: transaction.price?.milliunits, currency: transaction.price?.currency.text,
            appAccountToken: transaction.appAccountToken)
    }
}

extension EnquiryJSON.Apple {
    fileprivate init?(_ word: AppleAnswer) {
        switch word {
        case .notNeeded: return nil
        case .notAsked(let why): self.init(notAsked: why, answers: [:])
        case .asked(let answers):
            let refusals = answers.compactMap { answer -> (String, String)? in
                switch answer.finding {
                case .found: nil
                case .notFound(let text), .failed(let text), .notAsked(let text): (answer.bundleID.text, text)
                }
            }
            self.init(notAsked: nil, answers: Dictionary(refusals) { first, _ in first })
        }
    }
}

extension EnquiryJSON.Order {
    fileprivate init(_ order: KnownOrder) {
        self.init(
            orderID: order.orderID, bundleID: order.bundleID, userID: order.userID, productID: order.productID,
            quantity: order.quantity, createdAt: order.createdAt)
    }
}

extension EnquiryJSON.User {
    fileprivate init(_ user: KnownUser) {
        self.init(
            receipts: user.receipts, waitingReceipts: user.waitingReceipts, watchedReceipts: user.watchedReceipts,
            deliveries: user.deliveries.map { EnquiryJSON.Delivered($0.delivery, of: $0) })
    }
}

extension EnquiryJSON.Receipt {
    fileprivate init(_ receipt: KnownReceipt) {
        self.init(
            receiptID: receipt.receiptID, bundleID: receipt.bundleID, userID: receipt.userID,
            orderID: receipt.orderID, transactionID: receipt.transactionID, device: receipt.device,
            submittedAt: receipt.submittedAt, state: receipt.state.rawValue, attempts: receipt.attempts,
            problem: receipt.problem?.rawValue, detail: receipt.detail,
            action: receipt.problem.map { English().action($0) })
    }
}
