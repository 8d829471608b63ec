import Commands
import Files
import Foundation
import Reporting

/// The folder that holds the reports.
enum ReportDirectory {
    /// Examines whether a report could be written there, or the folder made. Changes nothing.
    static func examine(_ path: String) -> Doctor.Finding {
        let name = "report directory"
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                return Doctor.Finding(
                    name, .wrong, "\(path) is no folder", remedy: "Name another with “directory” in [report].")
            }
            guard Folder.mayWrite(to: path) else { return refused(path, name) }
            let shown = ["latest", "index.html"]
            if let folder = shown.map({ "\(path)/\($0)" }).first(where: isFolder) {
                return Doctor.Finding(
                    name, .wrong, "\(folder) is a folder, in whose place no report can be shown",
                    remedy: "Move it away.")
            }
            if let others = shown.first(where: { !Folder.mayReplace($0, in: path) }) {
                return Doctor.Finding(
                    name, .wrong,
                    "\(path)/\(others) is another user's, in whose place no report can be shown (the folder's sticky bit "
                        + "is set)",
                    remedy: "Make the folder belong to the user that runs the job, or move that away.")
            }
            return Doctor.Finding(name, .fine, "\(path) is writable")
        }
        if let link = DeadLink(onTheWayTo: path) {
            return Doctor.Finding(
                name, .wrong, link.description,
                remedy: "Make that folder, mount its disk, or remove the link.")
        }
        let parent = nearestParent(of: path)
        return Folder.mayWrite(to: parent)
            ? Doctor.Finding(name, .fine, "\(path) will be made") : refused(path, name)
    }

    /// Whether it is a folder; a link to one is not.
    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private static func refused(_ path: String, _ name: String) -> Doctor.Finding {
        Doctor.Finding(
            name, .wrong, "\(path) is not writable for this user",
            remedy: "Make it belong to the user that runs the job, or name another with “directory” in [report].")
    }

    private static func nearestParent(of path: String) -> String {
        var parent = URL(filePath: path).deletingLastPathComponent()
        while parent.path() != "/", !FileManager.default.fileExists(atPath: parent.path(percentEncoded: false)) {
            parent.deleteLastPathComponent()
        }
        return parent.path(percentEncoded: false)
    }
}
