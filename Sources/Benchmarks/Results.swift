import Foundation
import Reconciliation

/// The results of a run of the benchmarks.
struct Results: Encodable {
    let machine = Machine.current
    let measurements: [Measurement]

    func write(to file: String) throws {
        try JSONEncoder.snakeCase(isPretty: true).encode(self).write(to: URL(filePath: file))
    }
}

/// The machine that was measured on.
struct Machine: Encodable {
    let cores: Int
    let processor: String
    /// The machine's load: processes that ran or wanted to, over the last minute.
    let load: Double

    static var current: Machine {
        var loads = [0.0]
        getloadavg(&loads, 1)
        return Machine(
            cores: ProcessInfo.processInfo.activeProcessorCount, processor: processorName(), load: loads[0])
    }

    var text: String { "\(cores) cores, \(processor), load \(Decimals.text(load)) at the end" }

    private static func processorName() -> String {
        let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.hasPrefix("model name") }
        let name = line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
        return name ?? "unknown processor"
    }
}

/// The table on standard output.
enum Table {
    static let head = row("", "what", "measured", "limit", "ratio", "aim") + " against"

    static func row(_ measurement: Measurement) -> String {
        let verdict = measurement.isMet.map { $0 ? " " : "!" } ?? " "
        return row(
            verdict, measurement.what, "\(Decimals.text(measurement.value)) \(measurement.unit)",
            Decimals.text(measurement.limit), Decimals.text(measurement.ratio), measurement.aim?.text ?? "")
            + " \(measurement.against)"
    }

    private static func row(
        _ verdict: String, _ what: String, _ value: String, _ limit: String, _ ratio: String, _ aim: String
    ) -> String {
        verdict.padded(to: 2) + what.padded(to: 50) + value.padded(to: 24, right: true)
            + limit.padded(to: 12, right: true) + ratio.padded(to: 8, right: true) + aim.padded(to: 9, right: true)
    }
}

extension String {
    fileprivate func padded(to width: Int, right: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - count))
        return right ? space + self : self + space
    }
}
