import Foundation
import Importing

extension Doctor {
    /// Whether the night can take files of decisions, and move them away.
    func decisions() -> [Finding] {
        guard let path = decisionsDirectory else { return [] }
        let name = "decisions"
        let isUsable = access(path, R_OK | W_OK | X_OK) == 0
        let folder = Finding(
            name, isUsable ? .fine : .wrong,
            isUsable ? "files of decisions in \(path) are taken" : "\(path) can't be read and written by this user",
            remedy: isUsable
                ? nil : "Make it belong to the user that runs the job: a file that was taken moves to its folder done/."
        )
        guard !SpreadsheetConversion.isInstalled else { return [folder] }
        return [
            folder,
            Finding(
                name, .warning, "files that end with .xlsx can't be read: xlsx2csv or python3 is not installed",
                remedy: "Install Debian's package xlsx2csv, or have decisions saved as CSV."),
        ]
    }
}
