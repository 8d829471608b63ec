public import Foundation
public import Reconciliation

/// What `iap-reconcile diff` prints: the cases that are in only one of two runs, and those that the runs judge
/// differently.
public struct DifferenceText {
    private let formats: Formats
    private let words = English()

    /// - Parameter timeZone: the zone for times.
    public init(timeZone: TimeZone) {
        formats = Formats(timeZone: timeZone)
    }

    /// The text that shows these differences.
    public func text(of differences: CaseDifferences) -> String {
        var opened: [[String]] = []
        var closed: [[String]] = []
        var changed: [[String]] = []
        for found in differences.cases {
            let name = [found.key.id.text, found.key.bundleID.text, found.key.environment.rawValue]
            switch found.change {
            case .opened(let judgement): opened.append(name + [judgement.likelihood.rawValue, why(judgement)])
            case .closed(let closing, let was): closed.append(name + [was.likelihood.rawValue, how(closing)])
            case .judgedOtherwise(let was, let now): changed.append(name + otherwise(was, now))
            }
        }
        let head = """
            From \(name(differences.from)) to \(name(differences.to)), in times of \(formats.zoneName): \
            \(opened.count) opened, \(closed.count) closed, \(changed.count) judged otherwise.

            """
        let parts = [("Opened", opened), ("Closed", closed), ("Judged otherwise", changed)]
        return head
            + parts.map { title, rows in
                let table = TextTable(
                    headings: ["transaction", "app", "environment", "likelihood", ""], figures: [], rows: rows)
                return rows.isEmpty ? "" : "\n\(title)\n\n" + table.text
            }.joined()
    }

    private func name(_ run: RunMoment) -> String { "run \(run.runID) (\(formats.local(run.now)))" }

    private func why(_ judgement: CaseDifference.Judgement) -> String {
        judgement.reasons.map(words.name).joined(separator: ", ")
    }

    private func how(_ closing: CaseDifference.Closing) -> String {
        "\(words.name(ofEvent: Printable.text(closing.how))) by \(Printable.text(closing.who)) "
            + formats.local(closing.at)
    }

    private func otherwise(_ was: CaseDifference.Judgement, _ now: CaseDifference.Judgement) -> [String] {
        let likelihood =
            was.likelihood == now.likelihood
            ? now.likelihood.rawValue : "\(was.likelihood.rawValue) → \(now.likelihood.rawValue)"
        var why = now.reasons.filter { !was.reasons.contains($0) }.map { "now: \(words.name(of: $0))" }
        why += was.reasons.filter { !now.reasons.contains($0) }.map { "no longer: \(words.name(of: $0))" }
        if was.ownerUserIDs != now.ownerUserIDs {
            why.append("owner: \(users(was.ownerUserIDs)) → \(users(now.ownerUserIDs))")
        }
        return [likelihood, why.joined(separator: ", ")]
    }

    private func users(_ ids: [String]) -> String {
        ids.isEmpty ? "nobody known" : ids.map { Printable.text($0) }.joined(separator: " or ")
    }
}
