import Foundation
import Reconciliation

/// How long each stage of a run took.
enum StageTable {
    static func text(_ stages: [StageTime]) -> String {
        let width = stages.map(\.name.count).max() ?? 0
        return stages.map { stage in
            let name = stage.name.padding(toLength: width, withPad: " ", startingAt: 0)
            let time = "\(name)  \(String(format: "%8.2f", stage.seconds)) s"
            guard stage.items > 0, stage.seconds > 0 else { return time + "\n" }
            return time + "  \(stage.items) items  \(Int(Double(stage.items) / stage.seconds))/s\n"
        }.joined()
    }
}
