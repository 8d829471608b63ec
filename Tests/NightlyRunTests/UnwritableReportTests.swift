import Job
import NightlyRun
import Reconciliation
import Testing

/// A report that can't be written fails the run, and its row says so with the code that the program ends with; what was
/// found waits for a report that can.
@Suite struct UnwritableReportTests {
    /// Its disk may be full before the first case is written, or after it.
    @Test(arguments: [true, false]) func theRunsRowSaysWhyAndTheNextReportTellsAll(isFullAtOnce: Bool) async throws {
        try await withStage(customers: 85) { stage in
            var findings = FullDisk(isFullAtOnce: isFullAtOnce)
            let job = NightlyJob(settings: stage.settings, programVersion: "test", log: { _ in }, progress: { _ in })
            await #expect(throws: ReportError.self) {
                _ = try await job.run(RunOptions(now: Stage.now), stop: StopSignal(), findings: &findings)
            }
            let runs = try await stage.rows(of: "iap.runs")
            #expect(runs.count == 1)
            #expect(runs.first?.contains(#""exit_code": 77"#) == true)
            #expect(runs.first?.contains("No space left on device") == true)
            // Written elsewhere, it says how the night went: nothing of it stays due.
            #expect(try await stage.reportAgain().outcome == .complete)
            let next = try await stage.run()
            #expect(next.findings.toldIDs == stage.lost)
        }
    }

    /// Also where it could not do all that was due.
    @Test func itsReportWrittenElsewhereSaysWhyTheNightEndedEarly() async throws {
        try await withStage(outageAfter: 150) { stage in
            var findings = FullDisk(isFullAtOnce: true)
            let job = NightlyJob(settings: stage.settings, programVersion: "test", log: { _ in }, progress: { _ in })
            await #expect(throws: ReportError.self) {
                _ = try await job.run(RunOptions(now: Stage.now), stop: StopSignal(), findings: &findings)
            }
            let outcome = try await stage.reportAgain().outcome
            guard case .endedEarly(let why) = outcome else { return #expect(Bool(false), "it is complete") }
            #expect(why.contains("Apple went down"), "\(why)")
        }
    }
}

/// A receiver of findings whose disk is full.
private struct FullDisk: FindingsReceiver {
    let isFullAtOnce: Bool
    private var error: ReportError { .failed(path: "/srv/reports", reason: "No space left on device") }

    func begin(_ run: RunReport) throws { if isFullAtOnce { throw error } }
    func add(_ lostOrder: ReportedCase) throws { throw error }
    func add(unusable receipt: TroubledReceipt) throws { throw error }
    func add(unverified receipt: TroubledReceipt) throws { throw error }
    func add(_ suspicion: Suspicion) throws { throw error }
    func add(_ difference: ComparedSales) throws { throw error }
    func finish() throws { throw error }
}
