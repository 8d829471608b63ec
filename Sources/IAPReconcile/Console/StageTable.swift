import Foundation
import Reconciliation

/// How long each stage of a run took.
enum StageTable {
    static func text(_ stages: [StageTime]) -> String {
        let width = stages.map(\.name.count).max() ?? 0
        return stages.map { stage in
            let name = stage.name.padding(toLength: width, withPad: " ", startingAt: 0)
            let rate = stage.seconds > 0 ? Int(Double(stage.items) / stage.seconds) : 0
            return "\(name)  \(String(format: "%8.2f", stage.seconds)) s  \(stage.items) items  \(rate)/s\n"
        }.joined()
    }
}
