import Job
import Ledger
import Reconciliation
import Verification

/// What the apps' servers handed on.
extension Hearing {
    private static let handedAtOnce = 500

    /// Takes what the app's server handed on since the last night, and what could not be used before.
    func takeHandedNotices(of app: AppSettings) async throws(LedgerError) -> NoticeTotals {
        var totals = NoticeTotals()
        var last: HandedNotice.Key?
        while !context.stop.isRequested {
            let handed = try await session.handedNotices(
                of: [app.app.bundleID], after: last, limit: Self.handedAtOnce)
            guard let end = handed.last else { break }
            last = end.key
            totals += try await take(handed, of: app)
        }
        return totals
    }

    private func take(_ handed: [HandedNotice], of app: AppSettings) async throws(LedgerError) -> NoticeTotals {
        var taken: [HandedNotice.Key: TransactionID?] = [:]
        var notices: [(key: HandedNotice.Key, heard: HeardNotice)] = []
        var refused: [(key: HandedNotice.Key, problem: String, isFinal: Bool)] = []
        for item in handed {
            switch context.services.notice(handedOn: item.payload, for: app) {
            case .success(let notice):
                let heard = heard(notice, by: item.heardBy, for: app.app)
                taken[item.key] = .some(heard?.transaction.key.id)
                if let heard { notices.append((item.key, heard)) }
            case .failure(let flaw): refused.append((item.key, flaw.text, flaw.isFinal))
            }
        }
        var totals = NoticeTotals()
        if !taken.isEmpty {
            var batch = NoticeBatch(runID: context.runID, now: context.now, notices: notices.map(\.heard))
            batch.handed = taken
            totals = try await take(batch, of: app.app) { index, why, rest in
                rest.handed.removeValue(forKey: notices[index].key)
                refused.append((notices[index].key, why, false))
            }
        }
        try await session.refuse(refused, at: context.now)
        return totals
    }
}
