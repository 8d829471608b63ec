import Foundation
import Reconciliation

/// Keeps the findings of a run in memory.
final class Collector: FindingsReceiver {
    var head: RunReport?
    var cases: [ReportedCase] = []
    var unusable: [TroubledReceipt] = []
    var unverified: [TroubledReceipt] = []
    var suspicions: [Suspicion] = []
    var salesDifferences: [ComparedSales] = []
    var isFinished = false

    func begin(_ run: RunReport) { head = run }
    func add(_ lostOrder: ReportedCase) { cases.append(lostOrder) }
    func add(unusable receipt: TroubledReceipt) { unusable.append(receipt) }
    func add(unverified receipt: TroubledReceipt) { unverified.append(receipt) }
    func add(_ suspicion: Suspicion) { suspicions.append(suspicion) }
    func add(_ difference: ComparedSales) { salesDifferences.append(difference) }
    func finish() { isFinished = true }

    var caseIDs: Set<String> { Set(cases.map(\.key.id.text)) }

    /// The transactions that the cases tell of: that of a subscription tells of periods.
    var toldIDs: Set<String> { Set(cases.flatMap { $0.subscription?.periods ?? [$0.key.id] }.map(\.text)) }
}
