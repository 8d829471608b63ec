import AppStoreSimulator
import Foundation

/// The options of a command line: `--name value`, `--name=value`, or a bare `--name` that switches something on.
struct Options {
    private var values: [String: String] = [:]
    private var switches: Set<String> = []

    /// Throws for anything that the command does not know.
    init(_ arguments: [String], values names: Set<String>, switches switchNames: Set<String> = []) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else { throw UsageError("unexpected argument \(argument)") }
            let halves = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(halves[0])
            if switchNames.contains(name), halves.count == 1 {
                switches.insert(name)
            } else if names.contains(name) {
                guard let value = halves.count == 2 ? String(halves[1]) : rest.popFirst() else {
                    throw UsageError("--\(name) needs a value")
                }
                values[name] = value
            } else {
                throw UsageError("unknown option \(argument)")
            }
        }
    }

    func has(_ name: String) -> Bool { switches.contains(name) }

    func text(_ name: String) -> String? { values[name] }

    func required(_ name: String) throws(UsageError) -> String {
        guard let value = values[name] else { throw UsageError("--\(name) is needed") }
        return value
    }

    /// A whole number within the range.
    func number<Number: FixedWidthInteger>(
        _ name: String, in range: ClosedRange<Number>
    ) throws(UsageError) -> Number? {
        guard let text = values[name] else { return nil }
        guard let number = Number(text), range.contains(number) else {
            throw UsageError("--\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func decimal(_ name: String) throws(UsageError) -> Double? {
        guard let text = values[name] else { return nil }
        guard let number = Double(text), number >= 0, number.isFinite else {
            throw UsageError("--\(name) must be a number, 0 or more")
        }
        return number
    }

    /// A moment as ISO 8601, for instance `2026-11-21T03:00:00Z`.
    func moment(_ name: String) throws(UsageError) -> Date? {
        guard let text = values[name] else { return nil }
        guard let date = try? Date(text, strategy: .iso8601) else {
            throw UsageError("--\(name) must be a moment such as 2026-11-21T03:00:00Z")
        }
        return date
    }
}

/// A command line that can't be understood.
struct UsageError: Error {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}
