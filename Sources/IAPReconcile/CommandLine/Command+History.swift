import Reconciliation

extension Command {
    static func history(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        var days = 30
        if let text = try options.text("days") {
            guard let number = Int(text), (1...36_500).contains(number) else {
                throw UsageError("--days is a number from 1 to 36500, not “\(text)”")
            }
            days = number
        }
        return .history(days: days, asJSON: options.has("json"))
    }

    static func diff(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard operands.count == 2 else { throw UsageError("diff needs two runs, the earlier one first") }
        let runs = try operands.map { text throws(UsageError) in
            guard let run = Int64(text), run > 0 else { throw UsageError("“\(text)” is no run's number") }
            return run
        }
        guard runs[0] < runs[1] else { throw UsageError("diff needs the earlier run first") }
        return .diff(from: runs[0], to: runs[1], asJSON: options.has("json"))
    }
}
