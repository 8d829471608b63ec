import Foundation
import Reconciliation

/// `summary.txt`: what cron mails, at most sixty lines.
struct Summary {
    let run: RunReport
    let formats: Formats
    /// Cron mails it to operators, who read the program's own language.
    private let words = English()
    private var firstCases = SummaryCases()
    /// How many of any list are shown at the most, so that the cases stay in sight.
    private var most = 10
    var unusable = 0
    var unverified = 0
    var suspicious = 0

    init(run: RunReport, formats: Formats) {
        self.run = run
        self.formats = formats
    }

    mutating func add(_ found: ReportedCase) { firstCases.add(found) }

    private static let mostLines = 60

    /// Of each list fewer are shown, down to one, where all of them together would take too many lines.
    func text(location: String) -> String {
        var summary = self
        while summary.most > 1, summary.lines(location).count > Self.mostLines { summary.most -= 1 }
        return summary.lines(location).joined(separator: "\n") + "\n"
    }

    private func lines(_ location: String) -> [String] {
        var lines = [title, ""] + alerts
        lines += [
            row("outcome", outcome),
            row("as of", "\(Formats.utc(run.now)) (\(formats.local(run.now)) \(formats.zoneName))"),
        ]
        lines += toMend + patterns + heard + sources + unjudged + receipts + purged
        return lines + [""] + cases + [""] + totals + trail + ["", row("report", location)]
    }

    private var title: String { run.runID.map { "iap-reconcile: run \($0)" } ?? "iap-reconcile: dry run" }

    private var outcome: String {
        switch run.outcome {
        case .complete where leftToOthers > 0:
            "complete: everything due was tried, \(leftToOthers.counted("receipt")) of it by runs beside this one"
        case .complete where run.beyondLimit > 0:
            "complete: as many as --limit allows were tried, and "
                + run.beyondLimit.counted("more receipt is due", "more receipts are due")
        case .complete: "complete: everything due was tried"
        case .endedEarly(let why): "ended early: \(Printable.text(why, longest: 500))"
        }
    }

    /// Receipts that other runs have tried: if runs share the inbox, a complete run leaves the rest to them. In a dry
    /// run there are none.
    private var leftToOthers: Int { run.outcome == .complete && !run.isDryRun ? run.receipts.left : 0 }

    private var whoseLeft: String { leftToOthers > 0 ? "tried by others" : "not tried" }

    /// Alerts come before everything else, which is what they are for.
    private var alerts: [String] {
        let shown = first(of: run.alerts) { row("ALERT", $0.alertText) }
        return shown.isEmpty ? [] : shown + [""]
    }

    /// A line for each of the first items, and how many more there are.
    private func first<Item>(_ shown: Int = .max, of items: [Item], _ line: (Item) -> String) -> [String] {
        let shown = min(shown, most)
        let more = items.count - shown
        return items.prefix(shown).map(line)
            + (more > 0 ? [row("", "… and \(more) more; report.json has them all")] : [])
    }

    private var toMend: [String] {
        first(of: run.toMend) { setting in
            row("to mend", words.line(MendText(setting)))
        }
    }

    private var sources: [String] {
        let more = run.sources.count - most
        guard more > 0 else { return run.sources.flatMap(pullLines) }
        // None with which something is wrong is left out for one that gave all.
        let wrongFirst = run.sources.filter(Self.isWrong) + run.sources.filter { !Self.isWrong($0) }
        return wrongFirst.prefix(most).flatMap(pullLines)
            + [row("", "… and \(more.counted("more source")); report.json has them all")]
    }

    private static func isWrong(_ pull: SourcePull) -> Bool { pull.problem != nil || pull.refusedLately > 0 }

    private static let shownRefusedRows = 3

    private func pullLines(_ pull: SourcePull) -> [String] {
        let figures = "\(pull.taken) taken, \(pull.alreadyThere) already there, \(pull.refused) refused"
        let problem = pull.problem.map { "; not to its end: \(Printable.text($0, longest: 300))" } ?? ""
        // Where lines must be saved, these are the first to go.
        let refused = pull.refusedRows.prefix(min(Self.shownRefusedRows, most / 3)).map { refused in
            row("", Printable.text("\(refused.id): \(refused.what)", longest: 120))
        }
        let more = pull.refusedLately - refused.count
        return [row("source", "\(pull.name): \(figures)\(problem)")] + refused
            + (more > 0
                ? [row("", "… and \(more) more that could not be taken, by now or before; see report.json")] : [])
    }

    private var heard: [String] {
        let amiss = run.hearings.flatMap { HearingText.all($0, now: run.now, moment: formats.local) }
        let new = run.heard.map {
            row("heard", "\($0.fresh.counted("new notice")) of Apple's; \(Self.onlyTold($0.unknown))")
        }
        return (new.map { [$0] } ?? []) + asked
            + first(of: amiss) { row("not heard", words.line($0)) }
    }

    private var asked: [String] {
        let asked = run.asked
        guard asked.asked + asked.unanswered > 0 else { return [] }
        let unanswered = asked.unanswered > 0 ? "; \(asked.unanswered) not answered, and asked again" : ""
        return [
            row(
                "asked again",
                "\(asked.asked.counted("customer or delivery", "customers and deliveries")); "
                    + "\(Self.onlyTold(asked.unknown))\(unanswered)")
        ]
    }

    private static func onlyTold(_ unknown: Int) -> String {
        "\(unknown.counted("purchase")) that only Apple told of"
    }

    private static let shownPatterns = 5

    private var patterns: [String] {
        first(Self.shownPatterns, of: run.patterns) { pattern in
            let text = PatternText(pattern, words) { "\(formats.local($0)) \(formats.zoneName)" }
            return row("pattern", words.line(text, longest: 80))
        }
    }

    private var unjudged: [String] {
        first(of: run.unjudged) { unjudged in
            let text = UnjudgedText(unjudged, words, money: Formats.text)
            return row(unjudged.cause == .notConnected ? "not connected" : "not looked at", words(text))
        }
    }

    private var receipts: [String] {
        let counts = run.receipts
        return [
            row(
                "receipts",
                "\(counts.due) due: \(counts.verified) verified, \(counts.tryAgain) to try again, "
                    + "\(counts.unusable) unusable, \(counts.left) \(whoseLeft)"),
            // Receipts of thirty days beside tonight's; a malformed one is listed from its first night.
            row(
                "listed",
                "\(unusable) of thirty days that could not be used (some are still tried again), "
                    + "\(unverified) not verified yet, \(suspicious) suspicious"),
        ]
    }

    private var purged: [String] {
        let purged = run.purged
        guard purged.total > 0 else { return [] }
        let unpaid = purged.orders.counted("order that was", "orders that were")
        let orders = purged.orders == 0 ? "" : "; \(unpaid) never paid"
        let untaken = purged.notices.counted("notification")
        let notices = purged.notices == 0 ? "" : "; \(untaken) that could not be taken"
        return [
            row(
                "purged",
                "\(purged.payloads.counted("payload")), \(purged.devices.counted("device")) of receipts long settled"
                    + orders + notices)
        ]
    }

    /// What became of the cases since the previous run.
    private var changes: String {
        let counts = run.cases
        let still = counts.total - counts.new - counts.reopened
        let ends = CaseEnd.allCases.compactMap { end in counts.closed[end].map { "\($0) \(end.rawValue)" } }
        let closed = counts.closed.values.reduce(0, +)
        return "\(counts.new) new, \(still) still open, \(counts.reopened) reopened, \(closed) closed"
            + (ends.isEmpty ? "" : " (\(ends.joined(separator: ", ")))")
    }

    private var cases: [String] {
        let counts = run.cases
        let byLikelihood = Likelihood.allCases.map { "\(counts.byLikelihood[$0] ?? 0) \($0.rawValue)" }
        var lines = [
            row("likely lost orders", "\(counts.total) (\(byLikelihood.joined(separator: ", ")))"),
            row("since the last run", changes),
            row("money", money),
        ]
        lines += unpriced
        lines += [
            row(
                "oldest",
                counts.oldestPurchase.map { "\(formats.local($0)), \(words.age(run.now.timeIntervalSince($0))) ago" }
                    ?? "none"),
            row("pending", "\(run.pending) within their grace, not counted as lost"),
        ]
        lines += redeliveries
        if let sales = run.sales { lines.append(row("sold against seen", text(sales))) }
        if firstCases.shown > 0 { lines += [""] + firstCases.lines(formats) }
        if counts.total > firstCases.shown { lines.append("  … and \(counts.total - firstCases.shown) more") }
        return lines
    }

    private static let shownFailures = 3

    private var redeliveries: [String] {
        let figures = run.redeliveries
        guard !figures.isEmpty else { return [] }
        let failing = figures.failing > 0 ? "; \(figures.failing) keep failing" : ""
        let shown = min(Self.shownFailures, most)
        let more = figures.failing - shown
        return [
            row(
                "redeliveries",
                "\(figures.delivered) delivered so, \(figures.ordered) ordered, \(figures.open) open\(failing)")
        ]
            + figures.failures.prefix(shown).map { failure in
                let times = failure.tries.counted("time")
                let taken = failure.tries == 0 ? "not taken for a day" : "taken \(times) and not claimed"
                let tries = taken + (failure.isGivenUp ? ", given up" : "")
                return row("", "\(failure.key.id) of \(Printable.text(failure.userID, longest: 100)): \(tries)")
            } + (more > 0 ? [row("", "… and \(more) more; see report.json")] : [])
    }

    private func text(_ sales: SalesFigures) -> String {
        let sums = "\(sales.unitsSold.counted("unit")) sold, \(sales.unitsSeen) seen"
        let differences =
            sales.missing + sales.surplus == 0
            ? "all equal" : "\(sales.missing) sold and never seen, \(sales.surplus) seen and not sold"
        return "\(sums) on \(sales.days.counted("day")) to \(sales.last): \(differences)"
    }

    private var unpriced: [String] {
        let shown = run.unpriced.prefix(5).map { "\($0.productID) of \($0.bundleID) (\($0.transactions))" }
        guard !shown.isEmpty else { return [] }
        let more = run.unpriced.count - shown.count
        let list = shown.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        return [row("without a price", "\(list): see “iap-reconcile products --suggest”")]
    }

    private var money: String {
        let sums = MoneyText.list(run.cases.money, unpriced: run.cases.unpriced)
        return sums.isEmpty ? "none" : sums
    }

    private var totals: [String] {
        let totals = run.totals
        let broken = Set(totals.imbalances.map(\.equation))
        func verdict(_ equation: Imbalance.Equation) -> String { broken.contains(equation) ? "DOES NOT BALANCE" : "OK" }
        return [
            row(
                "control totals",
                "verified \(totals.verified.transactions) = newly white \(totals.newlyWhite.transactions) + already white "
                    + "\(totals.alreadyWhite.transactions) + already black \(totals.alreadyBlack.transactions) + excluded "
                    + "\(totals.excluded.transactions): \(verdict(.verified))"),
            row(
                "",
                "opening white \(totals.openingWhite.transactions) + new \(totals.new.transactions) − claimed "
                    + "\(totals.claimed.transactions) − resolved \(totals.resolved.transactions) − refunded "
                    + "\(totals.refunded.transactions) = closing white \(totals.closingWhite.transactions): \(verdict(.white))"
            ),
        ]
    }

    /// Kept with the mail, outside the database, it shows later whether the trail before it was changed.
    private var trail: [String] {
        run.trail.map { [row("trail", "entries: \($0.entries), its end \($0.end)")] } ?? []
    }

    private func row(_ name: String, _ value: String) -> String { "\(Self.padded(name, 18))  \(value)" }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
