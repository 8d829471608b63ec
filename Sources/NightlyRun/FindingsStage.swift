import Foundation
import Ledger
import Reconciliation

/// The report stage: hands a run's findings to whoever writes the report, one by one, from one snapshot.
struct FindingsStage {
    let session: LedgerSession
    let apps: [App]
    let runID: Int64
    let now: Date

    /// Hands over everything.
    ///
    /// - Throws: what the receiver throws, as it threw it; otherwise `LedgerError`.
    func hand(_ head: RunReport, to findings: inout some FindingsReceiver) async throws {
        try findings.begin(head)
        checkpoint(.reportBegun)
        var receiver = FailureRecorder(findings)
        defer { findings = receiver.receiver }
        do {
            try await session.reading {
                try await session.forEachCase(runID: runID, now: now) { found in
                    var found = found
                    found.patterns = head.patterns.indices.filter { head.patterns[$0].holds(found) }
                    try receiver.add { try $0.add(found) }
                }
                try await session.forEachUnusableReceipt(now: now) { found in
                    try receiver.add { try $0.add(unusable: found) }
                }
                try await session.forEachUnverifiedReceipt(now: now) { found in
                    try receiver.add { try $0.add(unverified: found) }
                }
                try await session.forEachSuspicion(of: apps, now: now) { found in
                    try receiver.add { try $0.add(found) }
                }
                if head.sales != nil {
                    try await session.forEachSalesDifference(on: .upTo(now)) { found in
                        try receiver.add { try $0.add(found) }
                    }
                }
            }
            try receiver.receiver.finish()
            checkpoint(.reportPublished)
        } catch {
            throw receiver.refusal ?? error
        }
    }
}

/// Remembers the error of a receiver, which the ledger would otherwise take for its own.
private struct FailureRecorder<Receiver: FindingsReceiver> {
    var receiver: Receiver
    var refusal: (any Error)?

    init(_ receiver: Receiver) {
        self.receiver = receiver
    }

    mutating func add(_ body: (inout Receiver) throws -> Void) throws {
        do {
            try body(&receiver)
        } catch {
            refusal = error
            throw error
        }
    }
}
