import Job
import Ledger
import Reconciliation

extension Run {
    /// What became of the inbox, and of what was pulled and heard before it.
    struct Taken {
        var leftOut: LeftOut
        let untried: Int
        let receipts: ReceiptCounts
        let sources: [SourcePull]
        let hearings: [HearingFigures]
    }

    /// How Apple is down; `nil` if it is not. If there are too few receipts to tell an outage by, it is down if it was
    /// reached for none of them.
    var outage: String? {
        if let outage = night.verifier.outage { return outage.text }
        let unreached = night.waiting.unreached
        return unreached > 0 && unreached == night.receipts.tried ? "Apple could not be reached" : nil
    }

    /// Apple was down from the start: not one receipt was judged.
    var isNothingProcessed: Bool { outage != nil && night.receipts.verified + night.receipts.unusable == 0 }

    /// How the night ends, given what was taken.
    func outcome(of taken: Taken) -> RunOutcome {
        let receipts = taken.receipts
        if let reason = context.stop.reason { return .endedEarly(reason) }
        if let outage {
            let waiting = receipts.waiting.counted("receipt waits", "receipts wait")
            return .endedEarly("\(outage); \(waiting) for the next night")
        }
        let waiting = night.waiting
        let telling = receipts.tried - waiting.notKnownAsApples
        if waiting.forApple > 0, Double(waiting.forApple) > job.settings.tryAgainShare * Double(telling) {
            let why = night.greatestTrouble.map { "; \($0)" } ?? ""
            return .endedEarly("\(receipts.tryAgain) of \(receipts.tried.counted("receipt")) must be tried again\(why)")
        }
        if let why = night.unverifiable { return .endedEarly(why) }
        if let why = taken.leftOut.text { return .endedEarly(why) }
        // Not in a dry run, whose receipts stay due.
        return RunOutcome(
            untried: context.isDryRun ? 0 : taken.untried, sources: taken.sources, hearings: taken.hearings)
    }
}

extension RunOutcome {
    /// How a run ended that nothing stopped, by what it read to its end.
    init(untried: Int, sources: [SourcePull], hearings: [HearingFigures]) {
        if untried > 0 {
            let receipts = untried.counted("receipt was not tried and stays", "receipts were not tried and stay")
            self = .endedEarly("\(receipts) due")
        } else if let source = sources.first(where: { $0.problem != nil }), let problem = source.problem {
            self = .endedEarly("the source \(source.name) could not be pulled to its end: \(problem)")
        } else if let hearing = hearings.first(where: { $0.problem != nil }), let problem = hearing.problem {
            self = .endedEarly(
                "Apple's notifications of \(hearing.bundleID) could not be read to their end: \(problem)")
        } else {
            self = .complete
        }
    }
}
