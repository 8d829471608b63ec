import Files
import Foundation
import Importing
import Reconciliation

extension Doctor {
    /// Whether the night can take files of decisions, and move them away.
    func decisions() -> [Finding] {
        guard let path = decisionsDirectory else { return [] }
        let name = "decisions"
        let problem = Self.problem(of: path)
        var findings = [
            Finding(
                name, problem == nil ? .fine : .wrong, problem ?? "files of decisions in \(path) are taken",
                remedy: problem.map { _ in
                    "Make it, and its folder done/, belong to the user that runs the job: a file that was taken moves "
                        + "there."
                })
        ]
        let left = Self.filesLeft(in: path, at: Date())
        if !left.isEmpty {
            findings.append(
                Finding(
                    name, .warning,
                    "no night has taken \(left.count.counted("file")) that came into \(path) more than two days ago: "
                        + left.joined(separator: ", "),
                    remedy: "The night's log says why each stays, as “iap-reconcile resolve --file” does."))
        }
        if !SpreadsheetConversion.isInstalled {
            findings.append(
                Finding(
                    name, .warning, "files that end with .xlsx can't be read: xlsx2csv or python3 is not installed",
                    remedy: "Install Debian's package xlsx2csv, or have decisions saved as CSV."))
        }
        return findings
    }

    /// What somebody laid into a folder more than two days before a moment, and a night had nothing to take from, or could
    /// not: whoever decided there may wait for it.
    static func filesLeft(in folder: String, at now: Date) -> [String] {
        let names = (try? Folder.shownNames(in: folder)) ?? []
        return names.filter { name in
            var status = stat()
            // By when it came there: who moves a file keeps the time at which it was written.
            return lstat("\(folder)/\(name)", &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
                && Date(timeIntervalSince1970: Double(status.st_ctim.tv_sec)) < now - 2 * 86_400
        }
    }

    /// Why files can't be taken from a folder and moved away; `nil` if they can.
    private static func problem(of folder: String) -> String? {
        if access(folder, R_OK | W_OK | X_OK) != 0 { return "\(folder) can't be read and written by this user" }
        if Folder.keepsOthersFiles(folder) {
            return "of what others lay into \(folder) this user may move nothing away (its sticky bit is set)"
        }
        let done = "\(folder)/done"
        var status = stat()
        // The night makes it.
        guard lstat(done, &status) == 0, !Folder.mayWrite(to: done) else { return nil }
        return "\(done) is no folder that this user may write to"
    }
}
