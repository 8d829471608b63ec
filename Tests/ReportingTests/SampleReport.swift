import Foundation
import Reconciliation
@testable import Reporting
import TestSupport
import Testing

/// A whole report of a made-up night, for the browser's tests and for looking at: `IAP_REPORT_SAMPLE` names the folder
/// that it is written to, `IAP_REPORT_SAMPLE_CASES` how many cases it has, `IAP_REPORT_SAMPLE_LANGUAGE` the language; with
/// `IAP_REPORT_SAMPLE_HOSTILE`, all that clients name is hostile text; with `IAP_REPORT_SAMPLE_CUSTOMERS`, a third of the
/// cases is one customer's, others have several, and there are patterns.
@Suite struct SampleReport {
    private static let variables = ProcessInfo.processInfo.environment

    @Test(.enabled(if: variables["IAP_REPORT_SAMPLE"] != nil, "IAP_REPORT_SAMPLE names no folder"))
    func isWritten() throws {
        let folder = try #require(Self.variables["IAP_REPORT_SAMPLE"])
        let count = Self.variables["IAP_REPORT_SAMPLE_CASES"].flatMap(Int.init) ?? 450
        let language = Self.variables["IAP_REPORT_SAMPLE_LANGUAGE"].flatMap(ReportLanguage.init) ?? .english
        let writer = try ReportWriter(directory: folder, language: language, programVersion: "1.0")
        let isHostile = Self.variables["IAP_REPORT_SAMPLE_HOSTILE"] != nil
        let hasCustomers = Self.variables["IAP_REPORT_SAMPLE_CUSTOMERS"] != nil
        try SampleNight(cases: count, isHostile: isHostile, hasCustomers: hasCustomers).hand(to: writer)
        #expect(FileManager.default.fileExists(atPath: "\(folder)/latest/index.html"))
    }
}

/// The findings of a made-up night: many cases of every kind, the same for the same number.
struct SampleNight {
    private static let products: [(id: String, name: String, prices: [(Int64, String)])] = [
        ("gems.100", "100 Gems", [(1_990, "USD"), (12_000, "CNY"), (300_000, "JPY")]),
        ("gems.550", "550 Gems", [(9_990, "USD"), (68_000, "CNY"), (1_500_000, "JPY")]),
        ("gems.1200", "1,200 Gems", [(19_990, "USD"), (128_000, "CNY"), (21_990, "EUR")]),
        ("chest.gold", "一箱金币", [(4_990, "USD"), (30_000, "CNY"), (5_490, "EUR")]),
        ("pass.season", "Season Pass", [(9_990, "USD"), (68_000, "CNY"), (4_250, "KWD")]),
        ("starter.pack", "Starter Pack <b>", [(990, "USD"), (6_000, "CNY"), (160_000, "JPY")]),
    ]
    private static let devices = ["iPhone15,3", "iPhone16,1", "iPad14,5", "iPhone12,8"]
    private static let reasons: [[Reason]] = [
        [.neverClaimed], [.neverClaimed, .rodeAlong], [.claimFailed], [.neverClaimed, .ownerAmbiguous],
        [.claimFailed, .ownerAmbiguous], [.unknownProduct],
    ]
    private let count: Int
    private let isHostile, hasCustomers: Bool

    init(cases count: Int, isHostile: Bool = false, hasCustomers: Bool = false) {
        self.count = count
        self.isHostile = isHostile
        self.hasCustomers = hasCustomers
    }

    func hand(to receiver: ReportWriter) throws {
        let each = (0..<count).map { isHostile ? hostileOrder($0) : lostOrder($0) }
        var found = (hasCustomers ? Sample.gathered(each) : each).sorted(by: Sample.comesFirst)
        var head = head(of: found)
        if hasCustomers { head.patterns = Self.patterns(of: found) }
        for place in found.indices {
            found[place].patterns = head.patterns.indices.filter { head.patterns[$0].holds(found[place]) }
        }
        if !found.isEmpty {
            found[0].taking = CaseTaking(by: "sue <b>", since: Sample.now - 7_200)
            found[0].redelivery = OpenRedelivery(
                userID: found[0].assessment.owner.user ?? "", orderedAt: Sample.now - 3_600, orderedBy: "iap-reconcile",
                tries: 1, takenAt: Sample.now - 1_800)
            found[0].comments = [DeskComment(at: Sample.now - 3_600, by: "sue <b>", text: "asked for <i>her</i> phone")]
        }
        head.sales = try Sample.salesFigures()
        try receiver.begin(head)
        for lostOrder in found { try receiver.add(lostOrder) }
        for index in 0..<7 { try receiver.add(unusable: receipt(index, .notGenuine)) }
        for index in 7..<12 { try receiver.add(unverified: receipt(index, .tryAgain)) }
        try receiver.add(Sample.suspicion)
        for difference in try Sample.salesDifferences() { try receiver.add(difference) }
        try receiver.finish()
    }

    /// One of each cause, with as many cases as belong to it.
    private static func patterns(of found: [ReportedCase]) -> [Pattern] {
        let (game, puzzle) = (BundleID("com.example.game")!, BundleID("com.example.puzzle")!)
        let (month, day) = (Sample.now - 30 * 86_400, Sample.now - 86_400)
        let causes: [(Pattern.Cause, BundleID, Date, Date?)] = [
            (.outage, puzzle, Sample.now - 2 * 86_400, nil), (.product(ProductID("chest.gold")!), game, month, nil),
            (.device(.model, "iPad14,5"), game, month, nil), (.hours, game, day, day + 7200),
        ]
        return causes.map { cause, app, from, until in
            let empty = Pattern(cause, of: app, from: from, until: until, PurchaseCounts())
            let counts = PurchaseCounts(cases: found.count(where: empty.holds), customers: 6, delivered: 3)
            return Pattern(cause, of: app, from: from, until: until, counts)
        }
    }

    private func head(of found: [ReportedCase]) -> RunReport {
        var report = Sample.run()
        var counts = CaseCounts(new: found.count(where: \.isNew), oldestPurchase: found.map(\.purchasedAt).min())
        var money: [CurrencyCode: Int64] = [:]
        for lostOrder in found {
            counts.byLikelihood[lostOrder.assessment.likelihood, default: 0] += 1
            guard let price = lostOrder.price else {
                counts.unpriced += 1
                continue
            }
            money[price.currency, default: 0] += price.milliunits
        }
        counts.money = money.sorted { $0.key < $1.key }.map { Money(milliunits: $0.value, currency: $0.key) }
        counts.closed = [.delivered: found.count / 15, .dismissed: found.count / 90, .refunded: found.count / 150]
        report.cases = counts
        report.pending = 63
        report.receipts = ReceiptCounts(due: 20_417, verified: 20_388, tryAgain: 5, unusable: 7)
        report.stages = [("own", 0.01), ("fetch", 1.87), ("verify", 14.2), ("record", 9.64), ("assess", 1.1)]
            .map { StageTime(name: $0.0, seconds: $0.1, items: 20_417) }
        report.history = history(found.count, counts)
        report.clients = Self.clients(of: found)
        return report
    }

    /// For each kind of program and device, more purchases that were delivered.
    private static func clients(of found: [ReportedCase]) -> [ClientFigures] {
        var tally = ClientTally()
        for lostOrder in found { tally.add(lostOrder) }
        return tally.cases.flatMap { trait, cases in
            cases.map { client, count in
                let delivered = count * (9 + client.value.utf8.reduce(0) { $0 + Int($1) } % 140)
                return ClientFigures(
                    bundleID: client.bundleID, trait: trait, value: client.value,
                    counts: PurchaseCounts(cases: count, customers: count, delivered: delivered))
            }
        }
    }

    /// Thirty runs that end with these cases: what a run begins with is what it leaves, less the new, and the closed.
    private func history(_ found: Int, _ counts: CaseCounts) -> [RunFigures] {
        var open = found
        return (1...30).reversed().map { run in
            let isLast = run == 30
            let figures = RunFigures(
                runID: Int64(run + 12), now: Sample.now.addingTimeInterval(Double(run - 30) * 86_400), cases: open,
                new: isLast ? counts.new : found * (3 + (run * 11) % 7) / 100,
                closed: isLast ? counts.closed.values.reduce(0, +) : found * (2 + (run * 5) % 7) / 100,
                money: counts.money.map {
                    // In whole units, which every currency has.
                    let share = $0.milliunits / 1_000 * Int64(open) / Int64(found) * 1_000
                    return Money(milliunits: isLast ? $0.milliunits : share, currency: $0.currency)
                })
            open += figures.closed - figures.new
            return figures
        }
        .reversed()
    }

    private func lostOrder(_ index: Int) -> ReportedCase {
        let product = Self.products[index * 7 % Self.products.count]
        let (price, currency) = product.prices[index * 5 % 3]
        let age = Double(3_700 + (index * index * 7_919) % (index % 5 == 0 ? 9_000_000 : 700_000))
        let purchased = Sample.now.addingTimeInterval(-age)
        let reasons = Self.reasons[index * 13 % Self.reasons.count]
        let users = users(index, reasons)
        let likelihood: Likelihood = reasons.contains(.unknownProduct) ? .low : reasons.count > 1 ? .medium : .high
        var found = Sample.lostOrder(id: String(470_001_000_000_000 + index * 7_919_113))
        found.key = TransactionKey(
            id: found.key.id, bundleID: BundleID(index % 9 == 0 ? "com.example.puzzle" : "com.example.game")!,
            environment: .production)
        found.assessment = Assessment(
            likelihood: likelihood, reasons: reasons, owner: users.count == 1 ? .user(users[0]) : .ambiguous(users),
            orderIDs: index % 4 == 0 ? ["order-\(10_000 + index)"] : [],
            action: users.count > 1 ? .contact : likelihood == .low ? .investigate : .deliver)
        found.productID = ProductID(product.id)!
        found.productName = product.name
        found.purchasedAt = purchased
        found.price = Money(milliunits: price, currency: CurrencyCode(currency)!)
        found.isListPrice = index % 3 != 0
        found.device = device(index)
        found.sightings = sightings(index, users, purchased, isNamed: !reasons.contains(.rodeAlong))
        found.claims =
            reasons.contains(.claimFailed)
            ? [
                ClaimAttempt(
                    outcome: .wrongUser, userID: users[0], orderID: nil, attemptedAt: purchased.addingTimeInterval(600))
            ] : []
        found.openedAt = purchased.addingTimeInterval(3_600)
        found.isNew = age < 86_400
        found.firstVerifiedAt = purchased.addingTimeInterval(900)
        found.lastVerifiedAt = Sample.now
        if hasCustomers, index % 20 == 3 { found.subscription = subscription(of: found, isGranted: index % 40 == 3) }
        return found
    }

    private func subscription(of found: ReportedCase, isGranted: Bool) -> ReportedSubscription {
        ReportedSubscription(
            periods: [found.key.id], paidUntil: found.purchasedAt.addingTimeInterval(30 * 86_400),
            entitledUntil: isGranted ? found.purchasedAt : nil)
    }

    /// A case of which every text that a client chose is hostile, and in one the id that an app's server may have taken over.
    private func hostileOrder(_ index: Int) -> ReportedCase {
        let text = HostileText.allCases[index % HostileText.allCases.count].text
        var found = lostOrder(index)
        if index == 0, let id = TransactionID("$(id>pwn)'0") {
            found.key = TransactionKey(id: id, bundleID: found.key.bundleID, environment: found.key.environment)
        }
        found.assessment = Assessment(
            likelihood: found.assessment.likelihood, reasons: found.assessment.reasons, owner: .user(text),
            orderIDs: [text], action: .deliver)
        found.productName = text
        let device = try? JSONEncoder().encode(["model": text, "os": text])
        found.device = device.map { String(decoding: $0, as: UTF8.self) }
        found.sightings = [
            Sighting(
                receiptID: Int64(index), userID: text, orderID: text, isNamed: true,
                uploadedAt: found.purchasedAt.addingTimeInterval(300))
        ]
        found.claims = [
            ClaimAttempt(
                outcome: .wrongUser, userID: text, orderID: text,
                attemptedAt: found.purchasedAt.addingTimeInterval(600))
        ]
        return found
    }

    private func users(_ index: Int, _ reasons: [Reason]) -> [String] {
        if hasCustomers, let customer = Self.customer(index), !reasons.contains(.ownerAmbiguous) { return [customer] }
        let first = index == 0 ? Sample.hostile.filter { $0 != "\u{7}" } : "player-\(20_000 + index * 31 % 9_973)"
        return reasons.contains(.ownerAmbiguous) ? [first, "player-\(40_000 + index)"] : [first]
    }

    private static func customer(_ index: Int) -> String? {
        if index > 0, index % 5 < 2 { return "user-7" }
        return index % 11 == 2 ? "customer-\(index % 9)" : nil
    }

    private func device(_ index: Int) -> String {
        let system = index % 50 == 0 ? "</script><script>alert(1)</script>" : "17.\(index % 6)"
        return #"{"model":"\#(Self.devices[index % 4])","os":"\#(system)","app_version":"2.\#(index % 7)"}"#
    }

    private func sightings(_ index: Int, _ users: [String], _ purchased: Date, isNamed: Bool) -> [Sighting] {
        users.enumerated().map { place, user in
            Sighting(
                receiptID: Int64(70_000 + index * 2 + place), userID: user,
                orderID: index % 4 == 0 ? "order-\(10_000 + index)" : nil, isNamed: isNamed && place == 0,
                uploadedAt: purchased.addingTimeInterval(300 + Double(place) * 40_000))
        }
    }

    private func receipt(_ index: Int, _ problem: ReceiptProblem) -> TroubledReceipt {
        var receipt = Sample.receipt(problem)
        receipt.receiptID = Int64(90_000 + index)
        if index > 0 {
            receipt.bundleID = "com.example.game"
            receipt.userID = "player-\(30_000 + index)"
            receipt.device = device(index)
        }
        receipt.detail = problem == .tryAgain ? "Apple answered 21009" : "Apple answered 21003"
        return receipt
    }
}
