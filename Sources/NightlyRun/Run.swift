import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// One run, from its row in `runs` to its end.
struct Run {
    let job: NightlyJob
    let night: Night
    let row: RunRow
    let session: LedgerSession
    let startedAt: Date
    let present: Present
    let due: [DueReceipts]
    /// What was new in what Apple tells; `nil` if there is nobody to hear.
    let heard: NoticeTotals?
    /// What asking again about what was sold before came to.
    let asked: AskingTotals
    /// How the workers reach the database.
    let ledger: LedgerSettings

    var context: RunContext { night.context }

    /// Once the run has its row, the night is under way.
    static func begin(
        _ job: NightlyJob, _ start: inout NightStart, at present: Present, _ stopwatch: Stopwatch
    ) async throws -> Run {
        let (options, session) = (start.options, start.session)
        let startedAt = present.clock
        let now = present.moment
        if !options.isDryRun { try await reconsider(job, session, at: now) }
        let runID = try await session.begin(
            RunStart(
                asOf: now, startedAt: startedAt, host: ProcessInfo.processInfo.hostName,
                processID: ProcessInfo.processInfo.processIdentifier, programVersion: job.programVersion))
        start.isUnderWay = true
        checkpoint(.runBegun)
        let row = RunRow(job: job, session: session, runID: runID, present: present, isDryRun: options.isDryRun)
        return try await row.carryOut { [start] in try await hear(row, start, startedAt: startedAt, stopwatch) }
    }

    /// What comes before the inbox: hears what Apple told, and asks about what was sold before.
    private static func hear(
        _ row: RunRow, _ start: NightStart, startedAt: Date, _ stopwatch: Stopwatch
    ) async throws -> Run {
        let (job, options, session, services) = (row.job, start.options, start.session, start.services)
        let screener = Screener(
            apps: job.settings.apps.map(\.app), catalogue: try await row.step { try await session.catalogue() })
        let context = RunContext(row, start, screener, stopwatch)
        let hearing = Hearing(context: context, session: session)
        let heard = try await row.step { try await stopwatch.time(.hear, items: \.fresh) { try await hearing.hear() } }
        let asked = try await row.step {
            try await stopwatch.time(.ask, items: \.asked) {
                try await Asking(context: context, session: session).ask()
            }
        }
        let due = try await row.step { try await session.dueReceipts(at: context.now) }
        let count = min(due.total, options.limit ?? .max)
        try await row.step { try await session.noteDue(count, of: context.runID) }
        let night = Night(context, due: count, limit: options.limit, progress: job.progress)
        context.log(.info, "run begins", fields: ["receipts_due": String(count)])
        return Run(
            job: job, night: night, row: row, session: session, startedAt: startedAt, present: row.present, due: due,
            heard: services.canHear(job.settings.apps) || heard.fresh > 0 || !heard.locked.isEmpty ? heard : nil,
            asked: asked,
            ledger: job.ledger(options))
    }

    /// Has verified again what today's settings let through and earlier ones did not, and what the apps' servers took
    /// back.
    private static func reconsider(_ job: NightlyJob, _ session: LedgerSession, at now: Date) async throws {
        func tell(_ receipts: Int, _ why: String) {
            job.log(
                LogEntry(.info, "receipts are verified again \(why)", fields: ["receipts": String(receipts)]))
        }
        let owedAgain = try await session.watchOwedAgain(at: now)
        if owedAgain > 0 { tell(owedAgain, "whose purchases are owed again") }
        let givenUp = try await session.verifyWithKey(job.settings.apps.filter(\.asksServerAPI).map(\.app), at: now)
        if givenUp > 0 { tell(givenUp, "whose app has a key for the App Store Server API now") }
        guard let count = try await session.reconsider(job.settings.apps.map(\.app), at: now) else { return }
        tell(count, "whose purchases earlier settings excluded")
    }

    /// Does everything, and ends the run's row accordingly.
    func carryOut(to findings: inout some FindingsReceiver) async throws -> RunReport {
        try await row.carryOut {
            let report = try await work(to: &findings)
            try await end(report)
            return report
        }
    }

    private func work(to findings: inout some FindingsReceiver) async throws -> RunReport {
        let context = context
        let beside = context.isDryRun ? nil : Beside(ledger: ledger, patience: job.settings.patience, log: job.log)
        var taken = try await takeInbox()
        let swept = try await context.stopwatch.time(.sweep, items: \.cases) { () async throws -> Sweeper.Swept in
            try await step { try await session.analyzeGrown() }
            return try await step { try await Sweeper(context: context, session: session, beside: beside).sweep() }
        }
        taken.leftOut.transactions.formUnion(swept.locked)
        if !taken.leftOut.isEmpty {
            taken.leftOut.holders += try await step { try await session.holdersOfRows() }
        }
        if let text = taken.leftOut.text { context.log(.warning, text) }
        let reading = SweptReading(context: context, swept: swept)
        async let readBeside = beside?.run(reading.read)
        let totals = try await closeBooks()
        let read = try await readBeside
        let figures = if let read { read } else { try await step { try await reading.read(session) } }
        async let noted: Void? = beside?.run(context.noteEntered)
        var head = head(of: taken, totals, figures, purged: await purge())
        head.redeliveries = try await step { try await session.redeliveryFigures(runID: context.runID) }
        if !context.isDryRun { head.trail = try await step { try await session.auditTrail() } }
        try await step { try await session.keep(head, of: context.runID) }
        checkpoint(.headKept)
        let before = ContinuousClock.now
        try await step { try await session.analyzeGrown() }
        try await step { try await job.compare(&head, of: context.runID, session) }
        // The report tells what was noted, too, so that comes first.
        if try await noted == nil, !context.isDryRun { try await step { try await context.noteEntered(session) } }
        try await hand(head, to: &findings)
        head.stages.append(
            StageTime(
                name: Stopwatch.Stage.report.rawValue, seconds: (ContinuousClock.now - before) / .seconds(1),
                items: head.cases.total))
        return head
    }

    private func takeInbox() async throws -> Taken {
        try await WorkerPool(night: night, ledger: ledger).work(session, on: due) {
            try await step { try await session.dueReceipts(at: context.now) }
        }
        checkpoint(.inboxDone)
        var taken = Taken(
            leftOut: try await step { try await self.leftOut() },
            untried: try await step { try await self.untried() },
            receipts: try await step { try await session.receiptCounts(of: context.runID) },
            sources: context.isDryRun ? [] : try await step { try await job.pulls(session, at: context.now) },
            hearings: try await step {
                try await session.hearings(of: job.settings.apps.map(\.app), now: context.now)
            })
        taken.leftOut.transactions.formUnion((heard?.locked ?? []) + asked.locked)
        if outage != nil {
            // If nobody got an answer, what came instead is none either.
            let problems = ReceiptProblem.forWantOfApple + (isNothingProcessed ? [.unreadableAnswer] : [])
            try await step { try await session.makeDueAgain(problems, triedAt: context.now) }
        }
        return taken
    }

    private func closeBooks() async throws -> ControlTotals {
        let totals = try await context.stopwatch.time(.books) { () async throws -> ControlTotals in
            let totals = try await step { try await session.closeBooks(of: context.runID) }
            try await step { try await session.checkNight() }
            return totals
        }
        checkpoint(.booksClosed)
        return totals
    }

    /// What the report begins with, as far as the run has it.
    private func head(
        of taken: Taken, _ totals: ControlTotals, _ figures: SweptReading.Figures, purged: Purged
    ) -> RunReport {
        var head = RunReport(
            runID: context.isDryRun ? nil : context.runID, startedAt: startedAt, finishedAt: present.clock,
            now: context.now,
            timeZone: job.settings.timeZone, outcome: outcome(of: taken), receipts: taken.receipts, totals: totals)
        head.take(figures.cases)
        head.pending = figures.pending
        head.stages = context.stopwatch.stages
        head.beyondLimit = max(0, due.total - max(taken.receipts.due, taken.receipts.tried))
        head.purged = purged
        head.leftOut = taken.leftOut
        head.sources = taken.sources
        head.heard = heard
        head.asked = asked
        head.hearings = taken.hearings
        return head
    }

    /// What the workers left out, and who holds the buckets that nobody of this run could own. If runs share the inbox,
    /// a bucket that another run works through is in good hands.
    private func leftOut() async throws -> LeftOut {
        var leftOut = night.leftOut
        var holdersOfBucket: [Int: [LockHolder]] = [:]
        for bucket in leftOut.buckets { holdersOfBucket[bucket] = try await session.holders(of: .bucket(bucket)) }
        // Read only now: what a run that shares the inbox has freed meanwhile is not due any more.
        let due = leftOut.buckets.isEmpty ? [] : try await session.dueReceipts(at: context.now)
        for (bucket, holders) in holdersOfBucket.sorted(by: { $0.key < $1.key }) {
            let isShared = job.settings.workers == .shared && !holders.isEmpty && holders.allSatisfy(\.isJob)
            let left = due.filter { $0.bucket == bucket }
            guard !left.isEmpty, !isShared else {
                leftOut.buckets.remove(bucket)
                continue
            }
            leftOut.receipts += left.total
            leftOut.holders += holders.filter { !leftOut.holders.contains($0) }
        }
        return leftOut
    }

    /// How many receipts the run should have tried and did not, though nothing was in the way. If runs share the inbox,
    /// the other tries its own.
    private func untried() async throws -> Int {
        let left = night.receipts.left
        return left == 0 ? 0 : min(left, try await session.dueReceipts(at: context.now).total)
    }

    /// Hands over the findings. A receiver that is begun once more begins anew.
    private func hand(_ head: RunReport, to findings: inout some FindingsReceiver) async throws {
        let stage = FindingsStage(
            session: session, apps: job.settings.apps.map(\.app), runID: context.runID, now: context.now)
        try await step { try await stage.hand(head, to: &findings) }
    }

    private func step<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await row.step(body)
    }

    private func end(_ report: RunReport) async throws {
        let end: RunEnd =
            switch report.outcome {
            case .complete: .complete
            case .endedEarly(let why): .endedEarly(isNothingProcessed ? .unavailable : .tryLater, why)
            }
        checkpoint(.runEnding)
        try await step { try await session.end(context.runID, as: end, at: present.clock) }
        checkpoint(.runEnded)
        var fields = ["state": end.state.rawValue, "cases": String(report.cases.total)]
        fields["reason"] = end.reason
        context.log(.info, "run ends", fields: fields)
        if isNothingProcessed {
            throw JobError.appleUnavailable(
                "Apple could not be reached: "
                    + "\(report.receipts.waiting.counted("receipt waits", "receipts wait")) for the next night.")
        }
    }
}
