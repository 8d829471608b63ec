import Foundation
import Reconciliation
import Testing

/// A made-up run with every kind of finding.
enum Sample {
    static let now = Date(timeIntervalSince1970: 1_790_000_000)
    static let hostile = "<img src=x onerror=alert(1)>\u{202E}=1+1\u{7}"

    static func run(cases: Int = 1, runID: Int64? = 42) -> RunReport {
        var totals = ControlTotals()
        totals.verified = Tally(transactions: 3, units: 3, hash: 9)
        totals.newlyWhite = Tally(transactions: 1, units: 1, hash: 8)
        totals.alreadyBlack = Tally(transactions: 2, units: 2, hash: 1)
        totals.new = totals.newlyWhite
        totals.closingWhite = totals.newlyWhite
        var head = RunReport(
            runID: runID, startedAt: now, finishedAt: now, now: now, timeZone: TimeZone(identifier: "Asia/Shanghai")!,
            outcome: .complete, receipts: ReceiptCounts(due: 5, verified: 3, tryAgain: 1, unusable: 1),
            totals: totals)
        head.cases = CaseCounts(
            byLikelihood: [.high: cases], new: cases,
            money: [Money(milliunits: 230_000, currency: CurrencyCode("JPY")!)],
            oldestPurchase: now.addingTimeInterval(-90_000))
        head.pending = 7
        head.stages = [StageTime(name: "verify", seconds: 1.5, items: 5)]
        return head
    }

    static func lostOrder(id: String = "120000123456789012", user: String = "user-1") -> ReportedCase {
        var found = ReportedCase(
            key: TransactionKey(
                id: TransactionID(id)!, bundleID: BundleID("com.example.game")!, environment: .production),
            assessment: Assessment(
                likelihood: .high, reasons: [.neverClaimed, .rodeAlong], owner: .user(user), orderIDs: ["order-9"],
                action: .deliver),
            originalID: TransactionID(id)!, productID: ProductID("gold.100")!, quantity: 1,
            purchasedAt: now.addingTimeInterval(-90_000), source: .verifyReceipt, openedAt: now, isNew: true)
        (found.productName, found.productType) = ("一百金币", .consumable)
        (found.price, found.isListPrice) = (Money(milliunits: 230_000, currency: CurrencyCode("JPY")!), true)
        found.device = #"""
            {"model":"iPhone15,3","os":"\#(hostile.replacingOccurrences(of: "\u{7}", with: ""))",\#
            "app_version":"2.4.1","name":"Ann's iPhone"}
            """#
        found.sightings = [
            Sighting(
                receiptID: 64, userID: user, orderID: nil, isNamed: false, uploadedAt: now.addingTimeInterval(-80_000))
        ]
        found.standing = "01234567-89abcdef"
        return found
    }

    /// The cases with what their customers' come to, as the ledger tells it.
    static func gathered(_ cases: [ReportedCase]) -> [ReportedCase] {
        let customers = Dictionary(grouping: cases.filter { $0.assessment.owner.user != nil }) {
            [$0.key.bundleID.text, $0.assessment.owner.user ?? ""]
        }.mapValues(together)
        return cases.map { found in
            var found = found
            found.customer = found.assessment.owner.user.flatMap { customers[[found.key.bundleID.text, $0]] ?? nil }
            return found
        }
    }

    private static func together(_ cases: [ReportedCase]) -> CustomerCases? {
        guard let first = cases.first, let user = first.assessment.owner.user, cases.count > 1 else { return nil }
        let sums = Dictionary(cases.compactMap(\.price).map { ($0.currency, $0.milliunits) }, uniquingKeysWith: +)
        return CustomerCases(
            bundleID: first.key.bundleID, userID: user, count: cases.count,
            likelihood: cases.map(\.assessment.likelihood).min() ?? .low,
            oldestPurchase: cases.map(\.purchasedAt).min() ?? now,
            money: sums.sorted { $0.key < $1.key }.map { Money(milliunits: $0.value, currency: $0.key) },
            unpriced: cases.count { $0.price == nil })
    }

    /// The order in which a report takes cases.
    static func comesFirst(_ a: ReportedCase, _ b: ReportedCase) -> Bool {
        func place(_ found: ReportedCase) -> (Likelihood, Date, String) {
            let customer = found.customer
            return (
                customer?.likelihood ?? found.assessment.likelihood, customer?.oldestPurchase ?? found.purchasedAt,
                customer.map { "\($0.bundleID) \($0.userID)" } ?? ""
            )
        }
        return place(a) == place(b)
            ? (a.assessment.likelihood, a.purchasedAt) < (b.assessment.likelihood, b.purchasedAt) : place(a) < place(b)
    }

    static func salesFigures() throws -> SalesFigures {
        SalesFigures(
            days: 29, first: try #require(CalendarDay("2026-10-01")), last: try #require(CalendarDay("2026-10-29")),
            unitsSold: 1204, unitsSeen: 1203, refundsSold: 9, refundsSeen: 8, missing: 2, surplus: 1)
    }

    static func salesDifferences() throws -> [ComparedSales] {
        let bundleID = try #require(BundleID("com.example.game"))
        return [
            ComparedSales(
                day: try #require(CalendarDay("2026-10-29")), bundleID: bundleID,
                productID: try #require(ProductID("gold.100")), productName: "一百金币", place: .country("USA"),
                unitsSold: 12, unitsSeen: 10, differenceAround: 1, refundsSold: 1, refundsSeen: 0),
            ComparedSales(
                day: try #require(CalendarDay("2026-10-28")), bundleID: bundleID,
                productID: try #require(ProductID("starter.pack")), productName: "Starter <b>", place: .everywhere,
                unitsSold: 0, unitsSeen: 1, differenceAround: 0),
        ]
    }

    static func notice(_ problem: ReceiptProblem) -> TroubledReceipt {
        TroubledReceipt(
            receiptID: 128, bundleID: hostile, userID: hostile, orderID: nil, transactionID: nil, device: nil,
            submittedAt: now, attempts: 1, problem: problem, detail: "the client uploaded nothing")
    }

    static let suspicion = Suspicion(
        kind: .manyUsers,
        subject: .transaction(
            TransactionKey(
                id: TransactionID("7")!, bundleID: BundleID("com.example.game")!, environment: .production),
            ProductID("gold.100")!), userIDs: ["a", hostile], firstSeenAt: now, detail: "3 users presented it")
}

/// A folder of a test's own, removed at its end.
func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "report \(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
}
