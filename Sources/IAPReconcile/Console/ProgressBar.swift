import Foundation
import Job

/// The progress of a run, on one line of a terminal.
enum ProgressBar {
    /// Returns to the beginning of the line and clears it.
    static let erase = "\r\u{1B}[K"
    private static let width = 30

    static func text(_ progress: RunProgress) -> String {
        let share = progress.total > 0 ? min(1, Double(progress.done) / Double(progress.total)) : 0
        let filled = Int(share * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(progress.stage) \(bar) \(Int(share * 100)) % (\(progress.done)/\(progress.total))"
    }
}
