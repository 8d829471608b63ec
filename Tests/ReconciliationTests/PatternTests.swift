import Foundation
import Reconciliation
import Testing

/// What counts as a pattern, and what stands out from nothing.
@Suite struct PatternTests {
    private let bundleID = BundleID("com.example.game")!
    private let from = Date(timeIntervalSince1970: 1_790_000_400)
    private let gems = ProductID("gems")!

    private func counts(_ cases: Int, of customers: Int? = nil, delivered: Int) -> PurchaseCounts {
        PurchaseCounts(cases: cases, customers: customers ?? cases, delivered: delivered)
    }

    private func found(_ change: (inout PatternFacts) -> Void) -> [Pattern] {
        var facts = PatternFacts(bundleID: bundleID, from: from)
        change(&facts)
        return Pattern.all(in: [facts])
    }

    private func silent(_ silence: PurchaseCounts, before: PurchaseCounts) -> [Pattern] {
        found {
            $0.silence = PatternFacts.Silence(since: from + 9000)
            $0.silence?.counts = silence
            $0.all = before
        }
    }

    @Test func anOutageIsWhatNothingWasDeliveredSince() {
        let outage = silent(counts(4000, delivered: 0), before: counts(3, delivered: 900))
        #expect(outage.map(\.cause) == [.outage])
        #expect(outage.first?.from == from + 9000)
        #expect(outage.first?.until == nil)
        #expect(outage.first?.counts.cases == 4000)
        // Nothing was ever delivered in the time that is looked at.
        #expect(silent(counts(12, delivered: 0), before: counts(0, delivered: 0)).map(\.cause) == [.outage])
    }

    @Test func fewCasesOrOneCustomersAreNoOutage() {
        #expect(silent(counts(9, delivered: 0), before: counts(3, delivered: 900)).isEmpty)
        #expect(silent(counts(187, of: 1, delivered: 0), before: counts(3, delivered: 900)).isEmpty)
        // An app that loses most of what it sells has not begun to.
        #expect(silent(counts(20, delivered: 0), before: counts(60, delivered: 40)).isEmpty)
    }

    @Test(arguments: [(10, 5, true), (9, 5, false), (10, 4, false)])
    func tenCasesOfFiveCustomersAreMany(cases: Int, customers: Int, isPattern: Bool) {
        let found = silent(counts(cases, of: customers, delivered: 0), before: counts(3, delivered: 900))
        #expect(found.isEmpty == !isPattern)
    }

    private func product(_ part: PurchaseCounts, others: PurchaseCounts) -> [Pattern] {
        found {
            $0.all = counts(part.cases + others.cases, delivered: part.delivered + others.delivered)
            $0.products = [gems: PatternFacts.Share(part, others: others)]
        }
    }

    @Test func aProductIsNeverDeliveredWhileOthersAre() {
        let pattern = product(counts(30, delivered: 0), others: counts(4, delivered: 400))
        #expect(pattern.map(\.cause) == [.product(gems)])
        #expect(pattern.first?.from == from)
        #expect(product(counts(30, delivered: 1), others: counts(4, delivered: 400)).isEmpty)
        #expect(product(counts(30, delivered: 0), others: counts(200, delivered: 400)).isEmpty)
        #expect(product(counts(30, delivered: 0), others: counts(0, delivered: 0)).isEmpty)
        #expect(product(counts(8, delivered: 0), others: counts(4, delivered: 400)).isEmpty)
    }

    private func device(_ part: PurchaseCounts, others: PurchaseCounts) -> [Pattern] {
        found { $0.traits = [.appVersion: ["2.3": PatternFacts.Share(part, others: others)]] }
    }

    @Test func aDeviceLosesFarMoreThanItsShare() {
        let pattern = device(counts(40, delivered: 60), others: counts(20, delivered: 4000))
        #expect(pattern.map(\.cause) == [.device(.appVersion, "2.3")])
        #expect(pattern.first?.counts.delivered == 60)
        // Most cases are of the device that most customers have.
        #expect(device(counts(400, delivered: 40_000), others: counts(20, delivered: 2000)).isEmpty)
        // Four times as much as others lose.
        #expect(device(counts(40, delivered: 960), others: counts(40, delivered: 3960)).isEmpty)
        #expect(device(counts(40, of: 2, delivered: 60), others: counts(20, delivered: 4000)).isEmpty)
        // Five times as much is far more, where one more of the others counts as lost and one as delivered.
        #expect(!device(counts(50, delivered: 50), others: counts(9, delivered: 89)).isEmpty)
        #expect(device(counts(49, delivered: 51), others: counts(9, delivered: 89)).isEmpty)
    }

    @Test func thePatternWithTheMostCasesComesFirst() {
        func lost(_ cases: Int) -> PatternFacts.Share {
            PatternFacts.Share(counts(cases, delivered: 0), others: counts(4, delivered: 400))
        }
        let patterns = found {
            $0.products = [gems: lost(20), ProductID("vip")!: lost(30), ProductID("gold")!: lost(40)]
            $0.traits = [.model: ["x1": lost(25)]]
        }
        #expect(patterns.map(\.counts.cases) == [40, 30, 25, 20])
    }

    @Test func aReportTakesTheFiguresOfEachProgramAndDevice() {
        var facts = PatternFacts(bundleID: bundleID, from: from)
        let figures = counts(40, delivered: 60)
        facts.traits = [.appVersion: ["2.3": PatternFacts.Share(figures, others: counts(20, delivered: 4000))]]
        var report = RunReport(
            runID: 1, startedAt: from, finishedAt: from, now: from, timeZone: .gmt, outcome: .complete,
            receipts: ReceiptCounts(), totals: ControlTotals())
        report.take([facts])
        #expect(report.patterns.map(\.cause) == [.device(.appVersion, "2.3")])
        #expect(
            report.clients
                == [ClientFigures(bundleID: bundleID, trait: .appVersion, value: "2.3", counts: figures)])
    }

    /// - Parameter customers: how many there are in all; by default each hour has its own.
    private func hours(_ counted: [PurchaseCounts], ofTheSame customers: Int? = nil) -> [Pattern] {
        found {
            $0.all = counted.reduce(PurchaseCounts()) {
                PurchaseCounts(
                    cases: $0.cases + $1.cases, customers: $0.customers + $1.customers,
                    delivered: $0.delivered + $1.delivered)
            }
            for (hour, counts) in counted.enumerated() {
                let first = customers == nil ? hour * 1000 : 0
                $0.hours[from + Double(hour) * 3600] = counts
                $0.hourlyCustomers[from + Double(hour) * 3600] = Set(
                    (first..<first + min(counts.customers, customers ?? Int.max)).map { Int64($0) })
            }
        }
    }

    /// Somebody who buys every hour and never gets anything is no outage.
    @Test func whoLosesInSeveralHoursIsOneCustomer() {
        let fine = counts(0, delivered: 40)
        let lost = Array(repeating: counts(6, delivered: 0), count: 4)
        #expect(hours([fine] + lost + [fine]).map(\.counts.customers) == [24])
        #expect(hours([fine] + lost + [fine], ofTheSame: 6).map(\.counts.customers) == [6])
        #expect(hours([fine] + lost + [fine], ofTheSame: 1).isEmpty)
    }

    @Test func anHourIsLostWhileThoseAroundWereDelivered() {
        let fine = counts(0, delivered: 40)
        let one = hours([fine, fine, counts(35, delivered: 5), fine])
        #expect(one.map(\.cause) == [.hours])
        #expect(one.first?.from == from + 2 * 3600)
        #expect(one.first?.until == from + 3 * 3600)
        let long = hours([fine, counts(6, delivered: 0), counts(7, delivered: 2), fine])
        #expect(long.map(\.counts.cases) == [13])
        #expect(long.first?.until == from + 3 * 3600)
        let two = hours([fine, counts(35, delivered: 5), fine, counts(20, delivered: 0), fine])
        #expect(two.map(\.counts.cases) == [35, 20])
        // What goes on is no lost hour, and neither is what was always so.
        #expect(hours([fine, fine, counts(35, delivered: 5)]).isEmpty)
        #expect(hours([counts(35, delivered: 5), fine, fine]).isEmpty)
        #expect(hours([fine, counts(9, delivered: 0), fine]).isEmpty)
        // Nor is one that loses about as much as the others.
        let usual = counts(10, delivered: 40)
        #expect(hours([usual, usual, counts(12, delivered: 11), usual]).isEmpty)
    }

    @Test func nothingStandsOutOfAQuietNight() {
        let quiet = found {
            $0.all = counts(40, delivered: 2000)
            $0.products = [
                gems: PatternFacts.Share(counts(22, delivered: 900), others: counts(18, delivered: 1100)),
                ProductID("vip")!: PatternFacts.Share(counts(18, delivered: 1100), others: counts(22, delivered: 900)),
            ]
            $0.traits = [
                .model: [
                    "iPhone15,2": PatternFacts.Share(counts(25, delivered: 1300), others: counts(15, delivered: 700))
                ]
            ]
            for hour in 0..<40 { $0.hours[from + Double(hour) * 3600] = counts(1, delivered: 50) }
        }
        #expect(quiet.isEmpty)
    }

    private func bought(
        at date: Date, _ product: String = "gems", of app: BundleID? = nil, by device: String? = nil
    ) throws -> ReportedCase {
        var found = ReportedCase(
            key: try Sample.key(of: (app ?? bundleID).text), assessment: Assessment(of: try Sample.facts()),
            originalID: try Sample.transactionID(), productID: try #require(ProductID(product)), quantity: 1,
            purchasedAt: date, source: .verifyReceipt, openedAt: from, isNew: true)
        found.productType = .consumable
        found.device = device
        return found
    }

    @Test func aPatternHoldsTheCasesOfItsAppAndTime() throws {
        let hour = Pattern(.hours, of: bundleID, from: from, until: from + 3600, counts(12, delivered: 0))
        for (seconds, isHeld) in [(-1.0, false), (0, true), (3599, true), (3600, false)] {
            #expect(hour.holds(try bought(at: from + seconds)) == isHeld)
        }
        #expect(!hour.holds(try bought(at: from, of: BundleID("com.example.other"))))
        let outage = Pattern(.outage, of: bundleID, from: from, until: nil, counts(12, delivered: 0))
        #expect(outage.holds(try bought(at: from + 1_000_000)))
    }

    @Test func aPatternHoldsTheCasesOfItsProductOrDevice() throws {
        let product = Pattern(.product(gems), of: bundleID, from: from, until: nil, counts(12, delivered: 0))
        #expect(product.holds(try bought(at: from)))
        #expect(!product.holds(try bought(at: from, "vip")))
        let phone = Pattern(.device(.model, "x1"), of: bundleID, from: from, until: nil, counts(12, delivered: 0))
        #expect(phone.holds(try bought(at: from, by: #"{"model":"x1"}"#)))
        #expect(!phone.holds(try bought(at: from, by: #"{"model":"x2"}"#)))
        #expect(!phone.holds(try bought(at: from)))
    }

    @Test func aDevicesTraitsAreItsTexts() {
        #expect(
            DeviceTrait.values(in: #"{"model":"iPhone15,2","os":17,"app_version":"2.3","name":"x"}"#)
                == [.model: "iPhone15,2", .appVersion: "2.3"])
        #expect(DeviceTrait.values(in: #"["model"]"#) == [:])
        let longest = String(repeating: "x", count: 100)
        #expect(DeviceTrait.values(in: #"{"model":"\#(longest)"}"#) == [.model: longest])
        #expect(DeviceTrait.values(in: #"{"model":"\#(String(repeating: "x", count: 101))"}"#) == [:])
    }
}
