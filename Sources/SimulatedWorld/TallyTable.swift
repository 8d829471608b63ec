import AppStoreSimulator

/// The tally as a table for people, by scheme and by scenario.
public struct TallyTable: CustomStringConvertible {
    private static let heads = [
        "purchases", "lost", "found", "missed", "waiting", "mended", "untold", "false", "owner", "high", "order",
        "days", "most", "late",
    ]
    private static let legend = """
        lost: paid, open past the grace, and something of it had reached the server; waiting: lost, and Apple has not
        answered yet for its receipt; mended: found, and later claimed or refunded; untold: nothing of it ever reached
        the server; false: a case of what is not owed; owner: a case that named others than the payer, and high: with
        likelihood high; order: matched to another's order; days: mean from payment to the night that found it, and
        the most; late: nights after the first that could find it. A subscription of an app that keeps entitlements
        is one purchase
        """

    /// The columns that only a world of apps with keys has.
    private static let headsOfKeys = ["apple", "heard"]
    private static let legendOfKeys = """
        apple: lost, and only Apple's notifications told so; heard: those of them that were found
        """

    private let tally: WorldTally

    public init(_ tally: WorldTally) {
        self.tally = tally
    }

    public var description: String {
        var lines = [line("", tally.hasKeys ? Self.heads + Self.headsOfKeys : Self.heads)]
        lines += Scheme.allCases.compactMap { scheme in
            tally.byScheme[scheme].map { line(scheme.rawValue, cells($0)) }
        }
        lines.append("")
        lines += Mishap.allCases.compactMap { mishap in
            tally.byMishap[mishap].map { line(mishap.rawValue, cells($0)) }
        }
        lines += ["", line("all", cells(tally.total)), "", Self.legend]
        if tally.hasKeys { lines.append(Self.legendOfKeys) }
        lines += ["", "\(tally.spread)"]
        if tally.hasKeys {
            lines.append("forged deliveries \(tally.forgeries.all), of these named \(tally.forgeries.named)")
        }
        lines.append(summary)
        return lines.joined(separator: "\n")
    }

    /// The line that ends a world.
    public var summary: String {
        """
        truly lost \(tally.total.lost), found \(tally.total.found), missed \(tally.total.missed), waiting for Apple \
        \(tally.total.waiting), cases \(tally.cases), \
        false alarms \(tally.total.falseAlarms), delivered twice \(tally.deliveredTwice), deliveries unlike the \
        world's \(tally.wrongDeliveries), wrong owner with high \(tally.total.wronglyHigh), wrong order \
        \(tally.total.wrongOrder), false alarms of what was granted \(tally.total.falseOfGranted), told twice \
        \(tally.total.toldTwice), high though there is access \(tally.total.overstated)\(summaryOfKeys)\(redelivered)
        """
    }

    private var redelivered: String {
        tally.redelivered == 0 ? "" : ", delivered without the customer \(tally.redelivered)"
    }

    private var summaryOfKeys: String {
        guard tally.hasKeys else { return "" }
        return """
            , only Apple told \(tally.total.onlyTold), of these found \(tally.total.heard), refunds after delivery \
            \(tally.refunds.all), of these noticed \(tally.refunds.noticed)
            """
    }

    private func cells(_ counts: WorldTally.Counts) -> [String] {
        let numbers = [
            counts.purchases, counts.lost, counts.found, counts.missed, counts.waiting, counts.mended, counts.untold,
            counts.falseAlarms, counts.wrongOwner, counts.wronglyHigh, counts.wrongOrder,
        ]
        let mean = counts.days.reduce(0, +) / Double(max(1, counts.days.count))
        let cells = numbers.map(String.init) + [tenth(mean), tenth(counts.days.max() ?? 0), String(counts.nightsLate)]
        return tally.hasKeys ? cells + [String(counts.onlyTold), String(counts.heard)] : cells
    }

    private func tenth(_ days: Double) -> String {
        let tenths = Int((days * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private func line(_ name: String, _ cells: [String]) -> String {
        let columns = zip(Self.heads + Self.headsOfKeys, cells).map { head, cell in
            String(repeating: " ", count: max(1, max(head.count, 6) + 1 - cell.count)) + cell
        }
        return name + String(repeating: " ", count: max(0, 20 - name.count)) + columns.joined()
    }
}
