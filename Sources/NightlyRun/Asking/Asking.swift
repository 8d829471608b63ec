import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// The ask stage: asks Apple again about what was sold before, within the night's budget of questions, because
/// notifications may be lost and nobody uploads what was refunded. Deliveries for which only the app's server vouches
/// come first, then customers, of whom those who have waited longest come first.
struct Asking {
    let context: RunContext
    let session: LedgerSession

    private var settings: JobSettings { context.settings }
    private var now: Date { context.now }

    /// Seconds after a purchase before Apple is asked: it has been seen to know a purchase hours late.
    private static let late: TimeInterval = 24 * 3600
    /// How many answers, or purchases in them, are taken together.
    private static let batchSize = 500

    /// Asks about what each app sold. An app that can't be asked about is logged, and the night goes on with the rest.
    func ask() async throws(LedgerError) -> AskingTotals {
        var totals = AskingTotals()
        for app in settings.apps where !context.stop.isRequested {
            totals += try await ask(about: app)
            checkpoint(.appAsked)
        }
        return totals
    }

    private func ask(about app: AppSettings) async throws(LedgerError) -> AskingTotals {
        guard let questions = context.services.questions(of: app) else { return try await verifyAgain(app) }
        let unproved = try await session.unprovedDeliveries(
            of: app.app, before: now - Self.late, at: now, limit: settings.questionsANight)
        var due = unproved.map(Question.delivery)
        if let reasking = settings.reasking(of: app) {
            due += try await dueCustomers(of: app.app, reasking, limit: settings.questionsANight - due.count)
                .map(Question.customer)
        }
        return due.isEmpty ? AskingTotals() : try await ask(due, of: questions, app)
    }

    /// If an app has no key, the newest receipt of a customer tells what was refunded.
    private func verifyAgain(_ app: AppSettings) async throws(LedgerError) -> AskingTotals {
        guard let reasking = settings.reasking(of: app), app.verification != .local else { return AskingTotals() }
        let due = try await dueCustomers(of: app.app, reasking, limit: settings.questionsANight)
        guard !due.isEmpty else { return AskingTotals() }
        return AskingTotals(
            asked: try await session.verifyNewestReceipts(of: due, app.app, askedEvery: reasking.interval, at: now))
    }

    /// The customers who are due, once those are forgotten who were not seen for too long.
    private func dueCustomers(
        of app: App, _ reasking: Reasking, limit: Int
    ) async throws(LedgerError) -> [DueCustomer] {
        let seenSince = reasking.windowStart(at: now)
        try await session.forgetCustomers(of: app, notSeenSince: seenSince, at: now)
        return try await session.dueCustomers(of: app, seenSince: seenSince, at: now, limit: limit)
    }

    // MARK: Asking Apple

    private enum Question: Sendable {
        case delivery(TransactionKey)
        case customer(DueCustomer)
    }

    private enum Answer: Sendable {
        case customer(DueCustomer, AppleQuestions.Changes)
        case delivery(TransactionKey, VerifiedTransaction?, Environment)
        /// A delivery to a customer whose account Apple knows no longer.
        case ofAccountGone(TransactionKey)
        case unanswered(Question, AppleQuestions.Unanswered)
    }

    private func ask(
        _ due: [Question], of questions: AppleQuestions, _ app: AppSettings
    ) async throws(LedgerError) -> AskingTotals {
        let environment = app.app.environment
        var gathered = Gathered(batch: batch(app))
        var rest = due.makeIterator()
        try await QuestionsAhead(context: context).ask {
            gathered.isOver ? nil : rest.next()
        } answer: { question async throws(CancellationError) in
            try await Self.answer(question, questions, environment)
        } take: { answer in
            add(answer, to: &gathered, app.app)
            return nil
        } keep: { isLast async throws(LedgerError) in
            if isLast { gathered.postponeUnreached() }
            guard isLast || gathered.size >= Self.batchSize else { return }
            gathered.totals += try await take(gathered.batch, of: app.app)
            gathered.batch = batch(app)
        }
        if let problem = gathered.problem, !context.stop.isRequested { log(problem, app.app.bundleID) }
        return gathered.totals
    }

    /// What came of the questions so far.
    private struct Gathered {
        var batch: AnswerBatch
        var totals = AskingTotals()
        /// Why the first question without an answer has none.
        private(set) var problem: String?
        /// Whether nothing more can be asked tonight.
        private(set) var isOver = false
        /// Whether Apple answered anything, be it an error.
        var isAnswered = false
        /// The questions for which Apple could not be reached.
        private(set) var unreached: [Question] = []

        var size: Int { max(batch.purchases.count, batch.count) }

        mutating func take(_ why: AppleQuestions.Unanswered, of question: Question) {
            switch why {
            case .problem(let text):
                isAnswered = true
                leave(text)
                postpone(question)
            case .unreached(let text):
                leave(text)
                unreached.append(question)
            case .needsConfiguration(let text): end(text)
            case .notTried: end("Apple could not be reached")
            }
        }

        private mutating func leave(_ why: String) {
            totals.unanswered += 1
            problem = problem ?? why
        }

        private mutating func end(_ why: String) {
            isOver = true
            problem = why
        }

        private mutating func postpone(_ question: Question) {
            switch question {
            case .customer(let customer): batch.unansweredCustomers.append(customer.customerID)
            case .delivery(let key): batch.unansweredDeliveries.append(key.id)
            }
        }

        /// Postpones what Apple was not reached for, so that it keeps no other question from being asked; unless Apple
        /// is down: then all stay due.
        mutating func postponeUnreached() {
            guard isAnswered, !isOver else { return }
            for question in unreached { postpone(question) }
            unreached = []
        }
    }

    private func batch(_ app: AppSettings) -> AnswerBatch {
        AnswerBatch(runID: context.runID, now: now, interval: settings.reasking(of: app)?.interval ?? 0)
    }

    /// Takes a batch, or one answer after the other if PostgreSQL refuses what one says: that must not keep the others
    /// from being taken. What is refused is asked again.
    private func take(_ batch: AnswerBatch, of app: App) async throws(LedgerError) -> AskingTotals {
        guard batch.count > 0 else { return AskingTotals() }
        do {
            return try await settings.takeShared { () async throws(LedgerError) in
                try await session.take(batch, of: app.bundleID, in: app.environment)
            } again: { locked async throws(LedgerError) in
                try await session.take(batch.holding(locked), of: app.bundleID, in: app.environment)
            }
        } catch {
            guard case .unfit(let why) = error else { throw error }
            guard batch.count > 1 else {
                log(why, app.bundleID)
                return AskingTotals(unanswered: 1)
            }
        }
        var totals = AskingTotals()
        for one in batch.oneByOne { totals += try await take(one, of: app) }
        return totals
    }

    private static func answer(
        _ question: Question, _ questions: AppleQuestions, _ environment: Environment
    ) async throws(CancellationError) -> Answer {
        switch question {
        case .customer(let customer):
            let told = try await questions.changes(
                ofCustomerWith: customer.transactionID, after: customer.revision, in: environment)
            switch told {
            case .answer(let changes): return .customer(customer, changes)
            case .notKnown, .accountGone: return .customer(customer, AppleQuestions.Changes())
            case .unanswered(let why): return .unanswered(question, why)
            }
        case .delivery(let key):
            switch try await questions.purchase(key.id.text, in: environment) {
            case .answer((let found, let environment)): return .delivery(key, found, environment)
            case .notKnown: return .delivery(key, nil, environment)
            case .accountGone: return .ofAccountGone(key)
            case .unanswered(let why): return .unanswered(question, why)
            }
        }
    }

    // MARK: What Apple answered

    private func add(_ answer: Answer, to gathered: inout Gathered, _ app: App) {
        switch answer {
        case .unanswered(let question, let why): return gathered.take(why, of: question)
        case .customer(let customer, let changes): add(changes, of: customer, to: &gathered.batch, app)
        case .delivery(let key, let found, let environment): add(found, environment, for: key, to: &gathered.batch, app)
        case .ofAccountGone(let key):
            gathered.batch.deliveries.append(
                AnswerBatch.Delivery(transactionID: key.id, finding: .accountGone, appAccountToken: nil))
        }
        gathered.isAnswered = true
    }

    private func add(
        _ changes: AppleQuestions.Changes, of customer: DueCustomer, to batch: inout AnswerBatch, _ app: App
    ) {
        for text in changes.unreadable { log(text, app.bundleID) }
        for (verified, proof) in changes.purchases {
            batch.purchases.append(heard(verified, proof: proof, app))
        }
        let transactions = changes.purchases.map(\.verified.transaction)
        batch.customers.append(
            AnswerBatch.Customer(
                customerID: customer.customerID, account: changes.account, revision: changes.revision,
                expiresAt: transactions.compactMap(\.expiresAt).max(), transactionIDs: Set(transactions.map(\.id))))
    }

    private func add(
        _ found: VerifiedTransaction?, _ environment: Environment, for key: TransactionKey, to batch: inout AnswerBatch,
        _ app: App
    ) {
        guard let found else {
            batch.deliveries.append(
                AnswerBatch.Delivery(transactionID: key.id, finding: .unproved(.unknownToApple), appAccountToken: nil))
            return
        }
        // What Apple knows under the same number in the other environment says nothing of the one that was delivered.
        guard environment == key.environment else {
            batch.deliveries.append(
                AnswerBatch.Delivery(transactionID: key.id, finding: .unproved(.sandbox), appAccountToken: nil))
            return
        }
        batch.purchases.append(heard(found, proof: nil, app))
        batch.deliveries.append(
            AnswerBatch.Delivery(
                transactionID: key.id, finding: nil, appAccountToken: found.transaction.appAccountToken))
    }

    private func heard(_ verified: VerifiedTransaction, proof: String?, _ app: App) -> HeardNotice {
        HeardNotice(
            uuid: "asked in run \(context.runID)", type: "TRANSACTION_HISTORY", subtype: nil, signedAt: now,
            way: .question, transaction: context.screener.screened(verified, signedAt: now, app.environment, for: app),
            signedTransaction: proof, consumptionReason: nil, sending: nil)
    }

    private func log(_ problem: String, _ bundleID: BundleID) {
        context.log(
            .warning, "Apple could not be asked about all that was sold before; it is asked again",
            fields: ["bundle_id": bundleID.text, "error": problem])
    }
}
