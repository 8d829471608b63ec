import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// Orders redeliveries of what is sure from the apps' servers that want that.
struct RedeliveryOrders {
    let context: RunContext
    let session: LedgerSession

    func order() async throws(LedgerError) {
        let stalled = try await possiblyStalled()
        for pattern in stalled { context.log(.warning, Self.text(pattern)) }
        let held = Set(stalled.map(\.bundleID))
        let apps = context.settings.apps.map(\.app).filter { !held.contains($0.bundleID) }
        _ = try await retryingConflicts(for: context.settings.conflictPatience) { () async throws(LedgerError) in
            try await session.orderRedeliveries(of: apps, runID: context.runID, now: context.now)
        }
    }

    /// The outages of apps whose deliveries a source tells of. A replica that stands still, or a folder into which
    /// nothing is dropped any more, looks the same, and what it keeps back was delivered.
    private func possiblyStalled() async throws(LedgerError) -> [Pattern] {
        let wanting = Set(context.settings.apps.map(\.app).filter { $0.redelivery == .high }.map(\.bundleID))
        guard !wanting.isEmpty, context.settings.sources.contains(where: \.kind.tellsOfDeliveries) else { return [] }
        return Pattern.all(in: try await session.patternFacts(now: context.now))
            .filter { $0.cause == .outage && wanting.contains($0.bundleID) }
    }

    private static func text(_ outage: Pattern) -> String {
        "nothing of \(outage.bundleID) is redelivered: of what was bought since \(outage.from.formatted(.iso8601)) nothing is "
            + "delivered by what its source tells; look whether that stands still, or order by resolve --deliver"
    }
}
