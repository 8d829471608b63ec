import Foundation
import Ledger
import Reconciliation

/// The sweep: every white transaction past its grace is assessed and stored as a case.
struct Sweeper {
    let night: Night
    let session: LedgerSession

    /// Sweeps all apps. Gives how many transactions are still within their grace.
    func sweep() async throws(LedgerError) -> Int {
        let apps = night.settings.apps.map(\.app)
        try await session.forEachPageOfFacts(of: apps, now: night.now) { page async throws(LedgerError) in
            let cases = page.map { AssessedCase(key: $0.key, assessment: Assessment(of: $0)) }
            try await patiently { () async throws(LedgerError) in
                try await session.store(cases, runID: night.runID, now: night.now)
            }
        }
        try await patiently { () async throws(LedgerError) in
            try await session.closeVanishedCases(runID: night.runID, now: night.now)
        }
        return try await session.pendingCount(of: apps, now: night.now)
    }
}
