import Foundation
import Testing

/// A strict reader of Prometheus' text format 0.0.4: HELP, TYPE and then the samples of a metric, each metric once and
/// in one piece, no sample twice, names and labels and values as the format has them.
struct PrometheusText {
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    /// The values by metric and labels, as they are written.
    private(set) var samples: [String: Double] = [:]
    private(set) var types: [String: String] = [:]
    private(set) var helps: Set<String> = []
    private var current: String?

    init(_ text: String) throws {
        guard text.hasSuffix("\n"), !text.contains("\n\n") else { throw Malformed(description: "no line at the end") }
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            try take(String(line))
        }
        let empty = Set(types.keys).subtracting(samples.keys.map { String($0.prefix { $0 != "{" }) })
        guard empty.isEmpty else { throw Malformed(description: "without a sample: \(empty)") }
    }

    private mutating func take(_ line: String) throws {
        if let help = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)/) {
            guard helps.insert(String(help.1)).inserted else { throw Malformed(description: "HELP twice: \(line)") }
            current = String(help.1)
        } else if let type = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)/) {
            guard current == String(type.1), types.updateValue(String(type.2), forKey: String(type.1)) == nil
            else { throw Malformed(description: "TYPE out of place: \(line)") }
        } else if let sample = line.wholeMatch(
            of:
                /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:(?:^|,)?[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*")+\})? (-?[0-9]+(?:\.[0-9]+)?)/
        ) {
            let name = String(sample.1)
            guard current == name, let type = types[name], (type == "counter") == name.hasSuffix("_total")
            else { throw Malformed(description: "a sample out of place: \(line)") }
            guard samples.updateValue(Double(sample.3) ?? .nan, forKey: name + (sample.2 ?? "")) == nil
            else { throw Malformed(description: "a sample twice: \(line)") }
        } else {
            throw Malformed(description: "no line of the format: \(line)")
        }
    }
}
