import Foundation
import Ledger
import Reconciliation

/// The sweep: every white transaction past its grace is assessed and stored as a case.
struct Sweeper {
    let night: Night
    let session: LedgerSession

    /// How many cases are assessed in one page; a page at a time is in memory.
    private static let page = 1000

    /// Sweeps all apps. Gives how many transactions are still within their grace.
    func sweep() async throws(LedgerError) -> Int {
        let apps = night.settings.apps.map(\.app)
        for app in apps {
            try await sweep(app)
        }
        try await patiently { () async throws(LedgerError) in
            try await session.closeVanishedCases(runID: night.runID, now: night.now)
        }
        return try await session.pendingCount(of: apps, now: night.now)
    }

    private func sweep(_ app: App) async throws(LedgerError) {
        var last: TransactionID?
        while true {
            let facts = try await session.caseFacts(of: app, after: last, limit: Self.page, now: night.now)
            guard let end = facts.last else { return }
            last = end.key.id
            let cases = facts.map { AssessedCase(key: $0.key, assessment: Assessment(of: $0)) }
            try await patiently { () async throws(LedgerError) in
                try await session.store(cases, runID: night.runID, now: night.now)
            }
        }
    }
}
