package import Importing
package import Job
package import Ledger
import Reconciliation

/// Carries out what the lines of a report's spreadsheet decide, each in a database transaction of its own.
package struct DecisionTaking {
    private let session: LedgerSession
    private let stop: StopSignal
    /// Whether to do everything and roll it back.
    private let isRehearsal: Bool
    /// Seconds for which a case that another session holds is waited for.
    private static let patience = 5.0

    package init(_ session: LedgerSession, stop: StopSignal, isRehearsal: Bool = false) {
        self.session = session
        self.stop = stop
        self.isRehearsal = isRehearsal
    }

    /// Goes on from line to line until the last, or until it is asked to stop.
    ///
    /// - Parameters:
    ///   - who: who decides.
    ///   - file: the name by which a decision without a note is explained.
    /// - Throws: `LedgerError`, `UnwritableFile`.
    package func take(
        _ sheet: DecisionSheet, by who: String, from file: String, results: DecisionResults
    ) async throws -> DecisionTally {
        var tally = DecisionTally()
        var decided: Set<TransactionKey> = []
        for line in sheet.lines {
            if stop.isRequested { return tally }
            switch line {
            case .refused(let refused):
                tally.count(.refused(refused.reason))
                try results.add(line: refused.number, id: refused.id, decision: nil, .refused(refused.reason))
            case .decided(let line):
                // A rehearsal leaves nothing by which the same decision would be known again.
                let isRepeated = !decided.insert(line.mark.key).inserted && isRehearsal
                let outcome = isRepeated ? .already : try await carryOut(line, by: who, from: file)
                tally.count(outcome)
                try results.add(
                    line: line.number, id: line.mark.key.id.text, decision: line.decision, outcome)
            }
        }
        tally.isComplete = true
        return tally
    }

    private func carryOut(
        _ line: DecidedLine, by who: String, from file: String
    ) async throws(LedgerError) -> DecisionOutcome {
        do {
            return try await retryingConflicts(for: Self.patience) { () async throws(LedgerError) in
                try await session.carryOut(
                    line, by: who, note: line.note.isEmpty ? "\(file), line \(line.number)" : line.note,
                    isRehearsal: isRehearsal)
            }
        } catch .conflict {
            return .refused(.busy)
        }
    }
}
