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

    /// A run no two of whose figures are alike, so that none can stand in another's place.
    static func uneven() throws -> RunReport {
        func tally(_ transactions: Int, _ units: Int, _ hash: Int64) -> Tally {
            Tally(transactions: transactions, units: units, hash: hash)
        }
        var run = run()
        run.receipts = ReceiptCounts(due: 40, verified: 18, tryAgain: 7, unusable: 3)
        var totals = ControlTotals()
        (totals.newlyWhite, totals.alreadyWhite) = (tally(6, 31, 0x1), tally(5, 32, 0x2))
        (totals.alreadyBlack, totals.excluded) = (tally(10, 33, 0x4), tally(14, 34, 0x8))
        totals.verified = tally(35, 130, 0xF)
        (totals.openingWhite, totals.new) = (tally(20, 61, 0x10), tally(9, 62, 0x20))
        (totals.claimed, totals.resolved) = (tally(4, 11, 0x40), tally(2, 12, 0x80))
        totals.refunded = tally(1, 13, 0x100)
        totals.closingWhite = tally(22, 87, 0x1F0)
        run.totals = totals
        run.cases.byLikelihood = [.high: 12, .medium: 8, .low: 5]
        (run.cases.new, run.cases.reopened, run.cases.unpriced) = (3, 2, 4)
        run.cases.closed = [.delivered: 6, .dismissed: 1, .refunded: 9, .withdrawn: 7]
        (run.heard, run.asked) = (NoticeTotals(fresh: 3, unknown: 2), AskingTotals(asked: 5, unknown: 1, unanswered: 4))
        let row = RefusedRow(id: "line 7", namedID: "1000", reason: .badValue, text: "no date")
        run.sources = [
            SourcePull(
                name: "shop", taken: 3, alreadyThere: 4, refused: 2, problem: "the server is gone", refusedRows: [row],
                refusedLately: 6)
        ]
        let bundleID = try #require(BundleID("com.example.game"))
        run.hearings = [
            HearingFigures(
                bundleID: bundleID, heardThrough: now - 60, lastSignedAt: now - 100_000, problem: nil,
                notTaken: [
                    HearingFigures.NotTaken(heardBy: .history, problem: "not signed", notices: 2),
                    HearingFigures.NotTaken(heardBy: .appServer, problem: "too long", notices: 5),
                ], unsent: 9, whyUnsent: "TIMED_OUT", deliveredSince: 21)
        ]
        run.redeliveries = RedeliveryFigures(
            ordered: 2, delivered: 40, open: 7, failing: 1,
            failures: [
                FailingRedelivery(key: lostOrder().key, userID: "anna", tries: 5, isGivenUp: true, takenAt: now - 60)
            ])
        run.unjudged = [
            Unjudged(
                bundleID: bundleID, productType: .autoRenewable, cause: .beforeConnected, transactions: 4, customers: 3,
                money: [Money(milliunits: 990, currency: try #require(CurrencyCode("USD")))], unpriced: 2)
        ]
        return run
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

    static func receipt(_ problem: ReceiptProblem) -> TroubledReceipt {
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
