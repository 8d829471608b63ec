import Foundation
import Reconciliation

/// `figures.json`: what the list of all reports shows of one, so that nothing has to read a whole report for it.
struct ReportFigures: Codable, Equatable {
    let runID: Int64?
    let now: Date
    let timeZone: String
    /// Why the run ended early, if it did.
    let endedEarly: String?
    let cases, new, pending: Int
    /// Closed since the previous run; `nil` in a report older than this figure.
    let closed: Int?
    let byLikelihood: [String: Int]
    /// Milliunits by currency.
    let money: [String: Int64]
    /// Cases that are left out of the money; `nil` in a report older than this figure.
    let unpriced: Int?
    let due, verified: Int
    /// Where the trail ended then; `nil` in a report older than this figure, and before any books were closed.
    let trailEnd: String?

    init(_ run: RunReport) {
        runID = run.runID
        now = run.now
        timeZone = run.timeZone.identifier
        if case .endedEarly(let why) = run.outcome { endedEarly = why } else { endedEarly = nil }
        cases = run.cases.total
        new = run.cases.new
        closed = run.cases.closed.values.reduce(0, +)
        pending = run.pending
        byLikelihood = run.cases.namedByLikelihood
        money = MoneyText.byCurrency(run.cases.money)
        unpriced = run.cases.unpriced
        due = run.receipts.due
        verified = run.receipts.verified
        trailEnd = run.trail?.end
    }

    enum CodingKeys: String, CodingKey {
        case runID = "run_id"
        case now
        case timeZone = "time_zone"
        case endedEarly = "ended_early"
        case cases, new, pending, closed
        case byLikelihood = "by_likelihood"
        case money, unpriced, due, verified
        case trailEnd = "trail_end"
    }

    static let fileName = "figures.json"

    func json() throws -> String { try String(json: self) + "\n" }

    /// Reads the figures of the report in that folder; `nil` if there are none, since it is older than the list or not
    /// a report.
    static func read(_ folder: String) -> ReportFigures? {
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(fileName)") else { return nil }
        return try? JSONDecoder.snakeCase().decode(ReportFigures.self, from: data)
    }

    /// Whether they are of another run: by its number or, since those of two databases begin at 1 each, by what else
    /// tells two runs apart. A dry run leaves nothing by which it would be known again.
    func isOfAnotherRun(than other: ReportFigures) -> Bool {
        guard runID == other.runID else { return true }
        guard runID != nil else { return false }
        let ends = [trailEnd, other.trailEnd].compactMap(\.self)
        // The file has milliseconds.
        return abs(now.timeIntervalSince(other.now)) > 0.002 || (ends.count == 2 && ends[0] != ends[1])
    }

    var sums: [Money] {
        money.compactMap { name, sum in CurrencyCode(name).map { Money(milliunits: sum, currency: $0) } }
            .sorted { $0.currency < $1.currency }
    }
}

extension ReportFigures {
    /// Writes `figures.json`.
    func write(to folder: ReportFolder) throws {
        let file = try folder.file(Self.fileName)
        try file.write(json())
        try file.finish()
    }
}
