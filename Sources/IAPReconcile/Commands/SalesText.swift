import Commands
import Importing
import Intake
import Reconciliation
import Reporting

/// The result of reading sales reports, in words.
enum SalesText {
    static func text(_ result: SalesResult) -> String {
        var text = TextTable(
            headings: ["day", "report", "lines", "units", "refunds", "file"], figures: [2, 3, 4],
            rows: result.files.flatMap { file in
                file.days.map {
                    [
                        "\($0.day)", $0.standing.rawValue, "\($0.lines)", "\($0.unitsSold)", "\($0.unitsRefunded)",
                        file.file,
                    ]
                }
            }
        ).text
        for file in result.files where file.problem == nil { text += counts(file) }
        guard let figures = result.figures else { return text }
        text += "\n" + verdict(figures, result.differences)
        if !result.differences.isEmpty { text += "\n" + table(result.differences) }
        return text
    }

    private static func counts(_ file: SalesFile) -> String {
        var parts = ["\(file.sales) of in-app purchases"]
        if file.others > 0 { parts.append("\(file.others) of others") }
        let unknown = file.unknownApps.values.reduce(0, +)
        if unknown > 0 { parts.append("\(unknown) of unknown apps") }
        let reasons = RefusalReason.allCases.compactMap { reason in
            file.refused[reason].map { "\($0) \(reason.rawValue)" }
        }
        parts.append("\(file.refusedCount) refused" + (reasons.isEmpty ? "" : " (\(reasons.joined(separator: ", ")))"))
        return "\(file.file): \(file.lines.counted("line")): \(parts.joined(separator: ", "))\n"
    }

    private static func verdict(_ figures: SalesFigures, _ differences: [ComparedSales]) -> String {
        let sums = "\(figures.unitsSold.counted("unit")) sold, \(figures.unitsSeen) seen"
        let refunds = "\(figures.refundsSold.counted("refund")), \(figures.refundsSeen) seen"
        guard !differences.isEmpty else { return "\(sums); \(refunds): all equal\n" }
        return "\(sums): \(figures.missing) sold and not seen, \(figures.surplus) seen and not sold; \(refunds)\n"
    }

    private static func table(_ differences: [ComparedSales]) -> String {
        TextTable(
            headings: [
                "day", "app", "product", "country", "sold", "seen", "difference", "±1 day", "refunds", "seen",
            ],
            figures: [4, 5, 6, 7, 8, 9],
            rows: differences.map {
                [
                    "\($0.day)", $0.bundleID.text, $0.productID.text, $0.place.storefront ?? "(all)",
                    "\($0.unitsSold)", "\($0.unitsSeen)", signed($0.difference), signed($0.differenceAround),
                    "\($0.refundsSold)", "\($0.refundsSeen)",
                ]
            }
        ).text
    }

    private static func signed(_ number: Int) -> String { number > 0 ? "+\(number)" : "\(number)" }
}

extension RefusedLine {
    /// The same line, with its file in the text.
    func naming(_ file: String) -> RefusedLine {
        RefusedLine(line: line, reason: reason, id: id, text: "\(file): \(text)")
    }
}
