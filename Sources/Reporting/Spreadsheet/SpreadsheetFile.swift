import Foundation
import Reconciliation

/// Writes `lost-orders.xlsx`: a sheet for each list of the report, and one for its totals.
final class SpreadsheetFile: ReportPart {
    private let context: ReportContext
    private let words: any Wording
    private let workbook: Workbook
    private let cases, unusable, unverified, suspicious, totals: Sheet
    /// Only if there are patterns.
    private let patterns: Sheet?
    /// Only if a sales report was read.
    private let sales: Sheet?
    private var lastCustomer: CustomerCases?
    private static let utc = TimeZone.gmt

    init(_ context: ReportContext) throws {
        self.context = context
        words = context.language.wording
        let reader = Reader(context.language, timeZone: context.run.timeZone)
        workbook = try Workbook(
            path: context.folder.path(of: "lost-orders.xlsx"), folder: context.folder.path(of: ""),
            title: PageHead.title(context.run, reader), created: context.run.finishedAt)
        let headings = SpreadsheetColumns(words: words, zone: context.run.timeZone)
        cases = try Sheet(words(.sheetCases), headings.cases, about: 3, in: workbook)
        patterns =
            if context.run.patterns.isEmpty {
                nil
            } else {
                try Sheet(words(.sheetPatterns), headings.patterns, about: 2, in: workbook)
            }
        unusable = try Sheet(words(.sheetUnusable), headings.receipts, about: 2, in: workbook)
        unverified = try Sheet(words(.sheetUnverified), headings.receipts, about: 2, in: workbook)
        suspicious = try Sheet(words(.sheetSuspicious), headings.suspicious, about: 2, in: workbook)
        sales =
            if context.run.sales == nil {
                nil
            } else {
                // Its rows are identified by the day, the app and the product.
                try Sheet(words(.sheetSales), headings.sales, about: 3, in: workbook)
            }
        totals = try Sheet(words(.sheetTotals), headings.totals, about: 2, in: workbook)
    }

    func add(_ found: ReportedCase) throws {
        if let customer = found.customer, customer != lastCustomer { try addHeading(of: customer) }
        lastCustomer = found.customer
        try cases.add(row(found), as: found.customer == nil ? .alone : .member)
    }

    /// Adds a customer's heading. The columns of figures stay empty, so that their sums are those of the cases.
    private func addHeading(of customer: CustomerCases) throws {
        let purchases = words(.purchasesOf, ["n": String(customer.count), "user": customer.userID])
        let unpriced = customer.unpriced > 0 ? [words(.unpriced, ["n": String(customer.unpriced)])] : []
        let sums = customer.money.map(Formats.text) + unpriced
        try cases.add(
            [
                .text(words.name(of: customer.likelihood)), .text(customer.userID), .text(""),
                .text(([purchases] + sums).joined(separator: "\n")), .text(""), .text(customer.bundleID.text),
            ], as: .heading)
    }

    private func row(_ found: ReportedCase) -> [Sheet.Cell] {
        let age = context.run.now.timeIntervalSince(found.purchasedAt)
        return [
            .text(words.name(of: found.assessment.likelihood)),
            .text(found.assessment.owner.candidates.joined(separator: " | ")),
            .text(found.key.id.text), .text(""), .text(found.originalID.text), .text(found.key.bundleID.text),
            .text(found.key.environment.rawValue), .text(found.productID.text), .text(found.productName ?? ""),
            .number(found.quantity), .money(found.price), .text(found.price?.currency.text ?? ""),
            .text(found.price == nil ? "" : words(found.isListPrice ? .yes : .no)),
            .moment(found.purchasedAt, Self.utc), .moment(found.purchasedAt, context.run.timeZone),
            .number(Int(max(0, age) / 86_400)),
            .text(found.assessment.reasons.map(words.sentence).joined(separator: " ")),
            .text(words.action(found.assessment, redelivery: found.redelivery)),
            .text(""), .text(""),
            .text(found.orderIDs.joined(separator: " | ")), .text(Device.text(found.device)),
            .text(words.name(of: found.source)), .text(words(found.isNew ? .yes : .no)),
            found.subscription.map { .number($0.periods.count) } ?? .text(""),
            .moment(found.subscription?.paidUntil, Self.utc), .moment(found.subscription?.entitledUntil, Self.utc),
            .text(found.patterns.map { String($0 + 1) }.joined(separator: " | ")), .text(found.mark.text),
        ]
    }

    func add(unusable receipt: TroubledReceipt) throws { try unusable.add(row(receipt)) }
    func add(unverified receipt: TroubledReceipt) throws { try unverified.add(row(receipt)) }

    private func row(_ receipt: TroubledReceipt) -> [Sheet.Cell] {
        [
            .text(String(receipt.receiptID)), .text(receipt.userID ?? ""), .text(receipt.bundleID),
            .text(receipt.orderID ?? ""), .text(receipt.transactionID ?? ""), .moment(receipt.submittedAt, Self.utc),
            .text(words.sentence(receipt.problem)), .text(receipt.detail), .number(receipt.attempts),
            .text(Device.text(receipt.device)), .text(words.action(receipt.problem)),
        ]
    }

    func add(_ suspicion: Suspicion) throws {
        try suspicious.add([
            .text(words.title(suspicion.kind)), .text(suspicion.subject.transactionID ?? ""),
            .text(suspicion.subject.bundleID), .text(suspicion.subject.productID?.text ?? ""),
            .text(suspicion.userIDs.joined(separator: " | ")),
            .moment(suspicion.firstSeenAt, Self.utc), .text(suspicion.detail),
        ])
    }

    func add(_ difference: ComparedSales) throws {
        try sales?.add([
            .day(difference.day), .text(difference.bundleID.text), .text(difference.productID.text),
            .text(difference.productName ?? ""), .text(difference.place.storefront ?? words(.allCountries)),
            .number(difference.unitsSold), .number(difference.unitsSeen), .number(difference.difference),
            .number(difference.differenceAround), .number(difference.refundsSold), .number(difference.refundsSeen),
        ])
    }

    func finish() throws {
        try addPatterns()
        try addTotals()
        for sheet in [cases, patterns, unusable, unverified, suspicious, sales, totals] { try sheet?.finish() }
        try workbook.close()
    }

    private func addPatterns() throws {
        for (place, pattern) in context.run.patterns.enumerated() {
            let text = PatternText(pattern, words) { "\(context.formats.local($0)) \(context.formats.zoneName)" }
            try patterns?.add([
                .text(String(place + 1)), .text(words(text)), .text(pattern.bundleID.text),
                .number(pattern.counts.cases), .number(pattern.counts.customers), .number(pattern.counts.delivered),
                .moment(pattern.from, Self.utc), .moment(pattern.until, Self.utc),
            ])
        }
    }

    private func addTotals() throws {
        for (section, terms) in [
            (Phrase.received, TotalsSection.Term.received(context.run.totals)),
            (.whiteTable, TotalsSection.Term.white(context.run.totals)),
        ] {
            for term in terms {
                try totals.add([
                    .text(words(section)), .text(words(term.name)), .number(term.tally.transactions),
                    .number(term.tally.units), .text(Formats.hash(term.tally.hash)),
                ])
            }
        }
        let counts = context.run.cases
        for likelihood in Likelihood.allCases {
            try totals.add([
                .text(words(.cases)), .text(words.name(of: likelihood)), .number(counts.byLikelihood[likelihood] ?? 0),
            ])
        }
        for sum in counts.money {
            try totals.add([
                .text(words(.money)), .text(sum.currency.text), .text(""), .text(""), .text(""), .money(sum),
            ])
        }
    }
}
