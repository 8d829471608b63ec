import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// The hear stage: reads what Apple told by itself since the last night, before the inbox is taken. What it tells of a
/// known purchase is written down at once; a purchase that nobody knows goes into the inbox. An app that can't be heard
/// is reported, and the night goes on with the rest.
struct Hearing {
    let context: RunContext
    let session: LedgerSession

    /// Hears all apps: what their servers handed on and what waits of the nights before, then Apple's history.
    func hear() async throws(LedgerError) -> NoticeTotals {
        var totals = NoticeTotals()
        for app in context.settings.apps where !context.stop.isRequested {
            totals += try await takeHandedNotices(of: app)
            if let history = context.services.noticeHistory(of: app) { totals += try await hear(app, from: history) }
            checkpoint(.appHeard)
        }
        return totals
    }

    private func hear(_ app: AppSettings, from history: NoticeHistory) async throws(LedgerError) -> NoticeTotals {
        let (bundleID, environment) = (app.app.bundleID, app.app.environment)
        let heard = try await session.heard(bundleID, in: environment)
        var reading = HistoryReading(
            HearingWindow.all(through: heard.through, since: app.app.since, environment, now: context.now))
        var totals = try await read(&reading, of: app.app, from: history)
        var earlier = HistoryReading(
            HearingWindow.earlier(than: heard.from, since: app.app.since, environment, now: context.now),
            isBackward: true)
        if !reading.isGivenUp { totals += try await read(&earlier, of: app.app, from: history) }
        if let problem = reading.problem ?? earlier.problem, !context.stop.isRequested {
            context.log(
                .warning, "Apple's notifications could not be read to their end",
                fields: ["bundle_id": bundleID.text, "error": problem])
            try await session.noteHearing(of: bundleID, in: environment, problem: problem, at: context.now)
        }
        return totals
    }

    private func read(
        _ reading: inout HistoryReading, of app: App, from history: NoticeHistory
    ) async throws(LedgerError) -> NoticeTotals {
        var totals = NoticeTotals()
        try await QuestionsAhead(context: context).ask {
            reading.next()
        } answer: { question async throws(CancellationError) in
            (question, outcome: try await history.page(question, app.environment))
        } take: { question, outcome in
            reading.take(outcome, of: question)
        } keep: { isLast async throws(LedgerError) in
            guard var batch = reading.batch(isLast: isLast) else { return }
            // What was locked is asked for again.
            if !totals.locked.isEmpty { batch.forgetHowFar() }
            totals += try await take(batch, of: app)
        }
        return totals
    }

    private func take(_ read: HistoryReading.Batch, of app: App) async throws(LedgerError) -> NoticeTotals {
        for text in read.unreadable { logUnreadable(text, app.bundleID) }
        let notices = read.notices.compactMap { notice in
            heard(notice, by: .history, for: app).map { (heard: $0, payload: notice.payload) }
        }
        var batch = NoticeBatch(runID: context.runID, now: context.now, notices: notices.map(\.heard))
        batch.refused = read.unusable.map {
            RefusedNotice(payload: $0.payload, problem: $0.flaw.text, isFinal: $0.flaw.isFinal)
        }
        (batch.heardFrom, batch.heardThrough) = (read.heardFrom, read.heardThrough)
        return try await take(batch, of: app) { index, why, rest in
            guard let payload = notices[index].payload else { return }
            rest.refused.append(RefusedNotice(payload: payload, problem: why, isFinal: false))
        }
    }

    /// Takes a batch, or one notice after the other if PostgreSQL refuses what one says: that must not keep the others
    /// from being taken, tonight and every night after.
    ///
    /// - Parameter refuse: notes a refused notice, by its index in the batch and PostgreSQL's words, in what is taken
    ///   after all of them.
    func take(
        _ batch: NoticeBatch, of app: App, refuse: (Int, String, inout NoticeBatch) -> Void
    ) async throws(LedgerError) -> NoticeTotals {
        do {
            return try await take(batch, of: app)
        } catch {
            guard case .unfit = error, !batch.notices.isEmpty else { throw error }
        }
        var totals = NoticeTotals()
        var rest = NoticeBatch(runID: context.runID, now: context.now, notices: [])
        rest.refused = batch.refused
        rest.handed = batch.handed
        for (index, notice) in batch.notices.enumerated().sorted(by: { $0.element.signedAt < $1.element.signedAt }) {
            do {
                totals += try await take(
                    NoticeBatch(runID: context.runID, now: context.now, notices: [notice]), of: app)
            } catch {
                guard case .unfit(let why) = error else { throw error }
                logUnreadable(why, app.bundleID)
                refuse(index, why, &rest)
            }
        }
        rest.handed = rest.handed(whileLocked: totals.locked)
        // What was locked is asked for again.
        if totals.locked.isEmpty { (rest.heardFrom, rest.heardThrough) = (batch.heardFrom, batch.heardThrough) }
        totals += try await take(rest, of: app)
        return totals
    }

    private func take(_ batch: NoticeBatch, of app: App) async throws(LedgerError) -> NoticeTotals {
        let take = { () async throws(LedgerError) in
            try await session.take(batch, of: app.bundleID, in: app.environment)
        }
        // A notice that is there already changes nothing.
        return try await context.settings.takeShared(take) { _ async throws(LedgerError) in try await take() }
    }

    /// `nil` if it is about no transaction, or about one of an environment in which the app does not sell.
    func heard(_ notice: Notice, by way: HeardNotice.Way, for app: App) -> HeardNotice? {
        guard let transaction = notice.transaction, notice.environment == app.environment else { return nil }
        return HeardNotice(
            uuid: notice.uuid, type: notice.type, subtype: notice.subtype, signedAt: notice.signedAt, way: way,
            transaction: context.screener.screened(
                transaction, signedAt: notice.transactionSignedAt ?? notice.signedAt, notice.environment, for: app),
            signedTransaction: notice.signedTransaction, consumptionReason: notice.consumptionReason,
            sending: NoticeSending(
                attempts: notice.attempts.map { ($0.date, $0.result) }, signedAt: notice.signedAt, now: context.now))
    }

    private func logUnreadable(_ text: String, _ bundleID: BundleID) {
        context.log(
            .warning, "a notification of Apple's is left out",
            fields: ["bundle_id": bundleID.text, "error": text])
    }
}

extension NoticeHistory {
    fileprivate func page(
        _ question: HistoryReading.Question, _ environment: Environment
    ) async throws(CancellationError) -> Outcome {
        try await page(
            from: question.window.start, to: question.window.end, token: question.token, in: environment)
    }
}
