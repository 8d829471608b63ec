import Files
import Foundation
import Glibc
import Reconciliation

/// The folder in which a run's report is made. It has a temporary name inside the report directory and is then renamed,
/// so that nobody ever sees half a report.
struct ReportFolder {
    let directory: String
    private let temporary: String
    /// The lock that shows that somebody is still writing there.
    private let life: FolderLock?

    /// Seconds to wait for another's turn, which takes a moment. But anyone who may read the report directory, or a
    /// program that hangs, may lock it for any time. Then a report does without.
    private let patience: TimeInterval

    private static let prefix = ".report-"

    /// Makes the report directory if it is missing, and a temporary folder in it: if that works, a report can be
    /// written. Removes what killed runs left there.
    init(directory: String, patience: TimeInterval = 10) throws(ReportError) {
        self.directory = directory
        self.patience = patience
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o750])
        } catch {
            throw .notWritable(path: directory, reason: Self.reason(of: error, making: directory))
        }
        // Otherwise another's folder could be removed as abandoned before it is locked.
        let turn = FolderLock(directory, patience: patience)
        if turn != nil { Self.removeRemains(in: directory) }
        var template = Array("\(directory)/\(Self.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .notWritable(path: directory, reason: ReportFile.lastError())
        }
        temporary = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        chmod(temporary, 0o750)
        life = FolderLock(temporary)
        withExtendedLifetime(turn) {}
    }

    private static func removeRemains(in directory: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for path in names.filter({ $0.hasPrefix(prefix) }).map({ "\(directory)/\($0)" }) {
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            guard isLink || FolderLock(path) != nil else { continue }
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    func file(_ name: String) throws(ReportError) -> ReportFile {
        try ReportFile(path: path(of: name))
    }

    /// The path of a file of the report, until the report is put in its place.
    func path(of name: String) -> String { "\(temporary)/\(name)" }

    /// Whether `latest` shows a report from now on.
    enum Standing {
        case latest
        /// Only if `latest` doesn't show a later report.
        case latestUnlessLater
        case aside
    }

    /// Takes the turn to put a report in its place; `nil` if another keeps it, and the report does without.
    func turn() -> FolderLock? { FolderLock(directory, patience: patience) }

    /// The name for the report of a run: the wanted one or, if another run's report has that, the first with a number
    /// behind it that none has. Databases that share the directory number their runs on their own, and no report may
    /// take another's place.
    func name(_ wanted: String, of figures: ReportFigures) -> String {
        let isFree = { (name: String) in
            ReportFigures.read("\(directory)/\(name)")?.isOfAnotherRun(than: figures) != true
        }
        let numbered = sequence(first: 2) { $0 + 1 }.lazy.map { "\(wanted)-\($0)" }
        return isFree(wanted) ? wanted : numbered.first(where: isFree) ?? wanted
    }

    /// Puts the report in its place, replacing an earlier one of the same name. Returns its path. The caller has the
    /// turn for it.
    func publish(as name: String, standing: Standing) throws(ReportError) -> String {
        let place = "\(directory)/\(name)"
        let old = "\(temporary).old"
        let hadOld = rename(place, old) == 0
        guard rename(temporary, place) == 0 else {
            let reason = ReportFile.lastError()
            if hadOld { rename(old, place) }
            throw .failed(path: place, reason: reason)
        }
        if hadOld {
            Self.keepOthers(of: old, in: place)
            try? FileManager.default.removeItem(atPath: old)
        }
        switch standing {
        case .latest: try pointLatest(at: name)
        case .latestUnlessLater: if !isLater(than: name) { try pointLatest(at: name) }
        case .aside: break
        }
        return place
    }

    /// Keeps what people put beside a report: their notes, and what became of the decisions in its spreadsheet.
    private static func keepOthers(of old: String, in place: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: old)) ?? []
        for name in names where !isOfReport(name) {
            var status = stat()
            if lstat("\(place)/\(name)", &status) != 0 { rename("\(old)/\(name)", "\(place)/\(name)") }
        }
    }

    /// Whether the name is that of a report's file: an earlier report may have had more pages.
    private static func isOfReport(_ name: String) -> Bool {
        let files = ["index.html", "lost-orders.csv", "lost-orders.xlsx", "report.json", "summary.txt", "figures.json"]
        return files.contains(name) || (name.hasPrefix("page-") && name.hasSuffix(".html"))
    }

    /// Whether `latest` shows a later report: names begin with the day and end with the run.
    private func isLater(than name: String) -> Bool {
        guard let shown = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/latest") else {
            return false
        }
        return name.compare(shown, options: .numeric) == .orderedAscending
    }

    private func pointLatest(at name: String) throws(ReportError) {
        let link = "\(temporary).latest"
        guard symlink(name, link) == 0, rename(link, "\(directory)/latest") == 0 else {
            let reason = ReportFile.lastError()
            unlink(link)
            throw .failed(path: "\(directory)/latest", reason: reason)
        }
    }

    /// Removes everything of a report that was not finished.
    func discard() {
        try? FileManager.default.removeItem(atPath: temporary)
    }

    /// As the system says it; Foundation's own words are those of a desktop.
    private static func reason(of error: any Error, making directory: String) -> String {
        if FileManager.default.fileExists(atPath: directory) { return "it is no folder" }
        if let link = DeadLink(onTheWayTo: directory) { return link.description }
        guard let cause = (error as? CocoaError)?.underlying as? POSIXError else { return error.localizedDescription }
        return SystemFailure(number: cause.code.rawValue).description
    }
}
