import Foundation

/// One line of the table: what was measured, and a limit that was measured in the same run, or that was set.
struct Measurement: Encodable {
    /// The ratio to the limit that the job ought to reach.
    enum Aim: Encodable {
        case atLeast(Double)
        case atMost(Double)

        func isMet(by ratio: Double) -> Bool {
            switch self {
            case .atLeast(let least): ratio >= least
            case .atMost(let most): ratio <= most
            }
        }

        var text: String {
            switch self {
            case .atLeast(let least): "≥ \(Decimals.text(least))"
            case .atMost(let most): "≤ \(Decimals.text(most))"
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }

    /// The benchmark's name, as in `BENCH=`.
    let benchmark: String
    let what: String
    let value: Double
    let unit: String
    /// In the unit of the value.
    let limit: Double
    /// What the limit is.
    let against: String
    let aim: Aim?
    /// Whether a run that misses the aim fails.
    var isGuard = false

    var ratio: Double { value / limit }
    var isMet: Bool? { aim.map { $0.isMet(by: ratio) } }

    private enum CodingKeys: String, CodingKey {
        case benchmark, what, value, unit, limit, against, ratio, aim
        case isMet = "aim_met"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(benchmark, forKey: .benchmark)
        try container.encode(what, forKey: .what)
        try container.encode(value, forKey: .value)
        try container.encode(unit, forKey: .unit)
        try container.encode(limit, forKey: .limit)
        try container.encode(against, forKey: .against)
        try container.encode(ratio, forKey: .ratio)
        try container.encodeIfPresent(aim, forKey: .aim)
        try container.encodeIfPresent(isMet, forKey: .isMet)
    }
}

/// Numbers as the table shows them: three digits that count.
enum Decimals {
    static func text(_ number: Double) -> String {
        let digits = number.magnitude >= 100 ? 0 : number.magnitude >= 10 ? 1 : 2
        return number.formatted(.number.precision(.fractionLength(digits)).locale(.init(identifier: "en")))
    }
}
