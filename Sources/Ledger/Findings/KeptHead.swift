import Foundation
import PostgreSQL
import Reconciliation

/// The figures of a report's head that a run's row keeps as JSON.
struct KeptHead: Codable {
    struct Cases: Codable {
        var byLikelihood: [String: Int] = [:]
        var new = 0
        var reopened: Int?
        var closed: [String: Int]?
        var money: [String: Int64] = [:]
        var unpriced = 0
        var oldestPurchase: Date?
        var pending = 0

        enum CodingKeys: String, CodingKey {
            case byLikelihood = "by_likelihood"
            case new, reopened, closed, money, unpriced
            case oldestPurchase = "oldest_purchase"
            case pending
        }
    }

    /// What no row but the run's says.
    struct Told: Codable {
        var heard: NoticeTotals?
        var asked: AskingTotals
        var purged: Purged
        var leftOut: LeftOut
        /// Why it ended early; `nil` if it is complete.
        var reason: String?

        enum CodingKeys: String, CodingKey {
            case heard, asked, purged
            case leftOut = "left_out"
            case reason
        }
    }

    var cases = Cases()
    var stages: [StageTime] = []
    var told: Told?

    init(_ head: RunReport) {
        let counts = head.cases
        for (likelihood, count) in counts.byLikelihood { cases.byLikelihood[likelihood.rawValue] = count }
        for money in counts.money { cases.money[money.currency.text] = money.milliunits }
        cases.new = counts.new
        cases.reopened = counts.reopened
        cases.closed = Dictionary(uniqueKeysWithValues: counts.closed.map { ($0.key.rawValue, $0.value) })
        cases.unpriced = counts.unpriced
        cases.oldestPurchase = counts.oldestPurchase
        cases.pending = head.pending
        stages = head.stages
        told = Told(heard: head.heard, asked: head.asked, purged: head.purged, leftOut: head.leftOut)
        if case .endedEarly(let why) = head.outcome { told?.reason = why }
    }

    init(cases: String?, stages: String? = nil, told: String? = nil) throws {
        let decoder = JSONDecoder.snakeCase()
        if let cases { self.cases = try decoder.decode(Cases.self, from: Data(cases.utf8)) }
        if let stages { self.stages = try decoder.decode([StageTime].self, from: Data(stages.utf8)) }
        if let told { self.told = try decoder.decode(Told.self, from: Data(told.utf8)) }
    }

    /// - Parameter row: the run's row, which keeps it.
    func counts(_ row: Row) throws -> CaseCounts {
        var counts = CaseCounts(
            new: cases.new, reopened: cases.reopened ?? 0, unpriced: cases.unpriced,
            oldestPurchase: cases.oldestPurchase)
        for (name, count) in cases.byLikelihood {
            counts.byLikelihood[try row.known(name, in: "cases")] = count
        }
        for (name, count) in cases.closed ?? [:] {
            counts.closed[try row.known(name, in: "cases")] = count
        }
        counts.money = try cases.money.map { name, sum in
            Money(milliunits: sum, currency: try row.currency(name, in: "cases"))
        }.sorted { $0.currency < $1.currency }
        return counts
    }
}
