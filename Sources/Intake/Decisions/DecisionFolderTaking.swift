import Files
package import Foundation
import Importing
package import Job
import Ledger
import Reconciliation

/// Takes the files of decisions that lie in a folder, before a night begins, and moves each to `done/` with what became
/// of its lines. What can't be read, or is still being written, stays where it is, and the night goes on.
package struct DecisionFolderTaking {
    let folder: DecisionFolder
    let settings: JobSettings
    let stop: StopSignal
    let present: Date
    let log: @Sendable (LogEntry) -> Void

    /// Seconds for which a file must have been left alone.
    private static let quiet: TimeInterval = 60

    package init(
        folder: DecisionFolder, settings: JobSettings, stop: StopSignal, present: Date,
        log: @escaping @Sendable (LogEntry) -> Void
    ) {
        self.folder = folder
        self.settings = settings
        self.stop = stop
        self.present = present
        self.log = log
    }

    /// Takes every file that is whole. What goes wrong is logged, for it holds up no night.
    package func take() async {
        do {
            let (files, others) = try Self.files(in: folder.path)
            for name in others {
                warn("it ends neither with .xlsx nor with .csv, and stays; save it as one of these", of: name)
            }
            guard !files.isEmpty else { return }
            try makeFolder()
            let session = try await LedgerSession.connect(ledger, waiting: settings.patience)
            defer { session.close() }
            for file in files where !stop.isRequested { await take(file, session) }
        } catch {
            warn("no decisions could be taken: \(error)")
        }
    }

    private var ledger: LedgerSettings {
        LedgerSettings(
            database: folder.database ?? settings.database, statementTimeout: settings.statementTimeout,
            present: present)
    }

    private func take(_ name: String, _ session: LedgerSession) async {
        let path = "\(folder.path)/\(name)"
        do {
            guard FileStanding(path) != nil else {
                return warn("it is no file, or a link to one, and stays", of: name)
            }
            // Whoever may write to the folder may put another's file under the name from here on.
            let file = try DecisionFile(path, followsLinks: false)
            // A file whose time lies ahead was copied from a machine whose clock is ahead; it was not written just now.
            guard let before = FileStanding(descriptor: file.descriptor), abs(before.age) > Self.quiet else {
                return warn("it is still being written; the next night takes it", of: name)
            }
            if let lock = Self.lock(of: name, in: folder.path) {
                return warn("it is open in an office program, and stays; if it is not, remove \(lock)", of: name)
            }
            let sheet = try await DecisionSheet.read(file, folder.form.vocabulary) { stop.isRequested }
            // Who copied the sheet may have decided in the copy.
            guard !sheet.lines.isEmpty else {
                return warn("nothing is decided in it, or not in its first sheet, and it stays", of: name)
            }
            let place = donePlace(of: name)
            let results = try DecisionResults("\(place).result.csv", of: [path], folder.form, isForGroup: true)
            let tally = try await DecisionTaking(session, stop: stop).take(
                sheet, by: "\(before.owner), by \(name)", from: name, results: results)
            tell(tally, of: name)
            guard tally.isComplete else { return }
            guard FileStanding(path) == before else {
                return warn("it was changed meanwhile and stays; the next night takes it again", of: name)
            }
            guard rename(path, place) == 0 else {
                let why = SystemFailure()
                return warn(
                    "it was taken, and stays, for it can't be moved to done/: \(why); move it there, or each night "
                        + "takes it again", of: name)
            }
        } catch {
            warn("it could not be taken: \(error)", of: name)
        }
    }

    private func tell(_ tally: DecisionTally, of name: String) {
        let fields = [
            "file": name, "done": String(tally.done), "already": String(tally.already),
            "refused": String(tally.refusedCount),
        ]
        log(LogEntry(tally.refusedCount == 0 ? .info : .warning, "decisions were taken", fields: fields))
    }

    private func warn(_ text: String, of file: String? = nil) {
        log(LogEntry(.warning, text, fields: ["decisions": file ?? folder.path]))
    }

    private func makeFolder() throws {
        let done = "\(folder.path)/done"
        guard mkdir(done, 0o750) != 0 else { return }
        let why = SystemFailure()
        guard !Folder.mayWrite(to: done) else { return }
        throw DecisionFileError.unwritable(folder: done, why: why.number == EEXIST ? Self.refused : why.description)
    }

    private static let refused = "it is no folder, or not this user's to write to"

    /// A name that no earlier file has.
    private func donePlace(of name: String) -> String {
        let stamp = Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
        let place = "\(folder.path)/done/\(stamp)-"
        let numbered = sequence(first: 2) { $0 + 1 }.lazy.map { "\(place)\($0)-\(name)" }
        let isFree = { !FileManager.default.fileExists(atPath: $0) && access("\($0).result.csv", F_OK) != 0 }
        return isFree(place + name) ? place + name : numbered.first(where: isFree) ?? place + name
    }

    /// Spreadsheets and CSV files, by their names, and other files, in which somebody may have decided, too.
    private static func files(in folder: String) throws -> (files: [String], others: [String]) {
        let shown: [String]
        do {
            shown = try Folder.shownNames(in: folder)
        } catch {
            throw DecisionFileError.unreadable(file: folder, why: error.description)
        }
        let isRead = { (name: String) in [".csv", ".xlsx"].contains { name.lowercased().hasSuffix($0) } }
        return (shown.filter(isRead), shown.filter { !isRead($0) && FileStanding("\(folder)/\($0)") != nil })
    }

    /// The file by which LibreOffice or Excel says that it has it open. Where the program crashed, it stays.
    private static func lock(of name: String, in folder: String) -> String? {
        [".~lock.\(name)#", "~$\(name)"].first { access("\(folder)/\($0)", F_OK) == 0 }
    }
}

/// What shows that a file was changed, and whose it is. A link has none: whoever made it need not be the file's owner.
private struct FileStanding: Equatable {
    let owner: String
    private let size: Int64
    private let modified: [Int]
    private let number: UInt64

    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init?(_ status: stat) {
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        size = Int64(status.st_size)
        modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        number = UInt64(status.st_ino)
        owner = getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "user \(status.st_uid)"
    }

    /// Seconds since it was last written.
    var age: TimeInterval { Date().timeIntervalSince1970 - Double(modified[0]) }
}
