import Files
import Foundation
package import Importing
package import Job
package import Ledger
package import Reconciliation

extension Pull {
    /// Pulls the files of a folder that are new or changed, the oldest first. One that can't be read is reported at the
    /// end, once the others are taken.
    ///
    /// - Throws: `SourceError`, `LedgerError`.
    func pull(folder path: String) async throws {
        let progress = try await begin("folder \(path)")
        checkpoint(.sourceOpened)
        var problems: [String] = []
        let listing = try Self.listing(of: path)
        if let why = listing.warning { log(LogEntry(.warning, "the source \(source.name): \(why)")) }
        problems += listing.unnameable.map { "\($0) can't be read: its name is not UTF-8; rename it" }
        for file in listing.files where !progress.files.contains(file) {
            do {
                try await pull(file, in: path)
            } catch let error as LedgerError {
                throw error
            } catch let error as ImportError {
                problems.append(error.description)
            } catch is GunzipSource.Damaged {
                problems.append("\(file.name) is damaged: it is no whole gzip file")
            }
        }
        guard problems.isEmpty else { throw SourceError(problems.joined(separator: "; ")) }
    }

    private func pull(_ file: SourceFile, in folder: String) async throws {
        let reader = try Self.reader(of: file, in: folder, kind: source.kind, stop: stop)
        try await session.retryingImport(source.kind, settings: settings, log: log) { () async throws(LedgerError) in
            try await session.forgetRefusedRows(of: source.name, file: file.name)
        }
        while let lines = try await reader.next() {
            var judged = SourceRows.Judged()
            judged.refused = lines.refused.map { Self.refused($0, in: file) }
            for line in lines.batch.lines {
                let name = "\(file.name):\(line.number)"
                rows.add(ImportLine(number: line.number, row: line.row, name: name), to: &judged)
            }
            try await take(judged, mark: SourceMark(source: source.name))
        }
        if let why = stop.reason { throw SourceError("it was stopped: \(why)") }
        var mark = SourceMark(source: source.name)
        mark.file = file
        try await take(SourceRows.Judged(), mark: mark)
    }

    /// A reader of a file in the folder, which follows no link.
    package static func reader(
        of file: SourceFile, in folder: String, kind: ImportKind, stop: StopSignal
    ) throws(ImportError) -> ImportReader {
        let path = URL(filePath: folder).appending(path: file.name).path(percentEncoded: false)
        return ImportReader(
            GunzipSource(try FileSource(path, followsLinks: false) { stop.isRequested }), kind: kind,
            file: file.name, format: nil, isWhole: { file.isLeftAlone(at: path) })
    }

    /// The refused row of a line, known by the name of the file and the number of the line.
    package static func refused(_ line: RefusedLine, in file: SourceFile) -> RefusedRow {
        RefusedRow(
            id: "\(file.name):\(line.line)", namedID: line.id, numbers: line.numbers,
            reason: line.reason, text: line.text)
    }

    /// What a folder holds.
    package struct Listing {
        /// The files of CSV or JSON Lines, gzipped or not, the oldest first.
        package var files: [SourceFile] = []
        /// The names of others, except those that are still being written.
        package var passedOver: [String] = []
        /// Files that would be taken if their names could be written: what they hold is missing.
        package var unnameable: [String] = []

        /// What to say of the files that were passed over.
        package var warning: String? {
            guard !passedOver.isEmpty else { return nil }
            let named = passedOver.prefix(5).joined(separator: ", ") + (passedOver.count > 5 ? ", …" : "")
            return "files passed over: \(passedOver.count), such as \(named); it takes readable ones, and no "
                + "links, that end with .csv, .jsonl or .ndjson, or these with .gz"
        }
    }

    /// Lists the files of a folder that can be pulled, and what is passed over.
    package static func listing(of folder: String) throws(SourceError) -> Listing {
        let url = URL(filePath: folder)
        let names: [String]
        do {
            names = try Folder.names(in: folder)
        } catch {
            throw SourceError("\(folder) can't be read: \(error)")
        }
        var listing = Listing()
        for name in names.sorted() where !isOnItsWay(name) {
            // A link is passed over: whoever may drop files could point one at a file that only the job may read, and
            // learn from what is said to be wrong with it.
            var status = stat()
            let isThere = lstat(url.appending(path: name).path(percentEncoded: false), &status) == 0
            let kind = isThere ? status.st_mode & S_IFMT : 0
            if !isThere, isWanted(name), name.contains("\u{FFFD}") { listing.unnameable.append(name) }
            // A folder within may keep what was taken.
            if kind == S_IFDIR { continue }
            guard kind == S_IFREG, isWanted(name) else {
                listing.passedOver.append(name)
                continue
            }
            listing.files.append(SourceFile(name: name, status))
        }
        listing.files.sort { ($0.modified, $0.name) < ($1.modified, $1.name) }
        return listing
    }

    private static func isWanted(_ name: String) -> Bool {
        let name = name.lowercased()
        let plain = name.hasSuffix(".gz") ? name.dropLast(3) : name[...]
        return [".csv", ".jsonl", ".ndjson"].contains { plain.hasSuffix($0) }
    }

    /// Whether its name is one that writers give a file until it is whole.
    private static func isOnItsWay(_ name: String) -> Bool {
        name.hasPrefix(".") || [".tmp", ".part"].contains { name.lowercased().hasSuffix($0) }
    }
}

extension SourceFile {
    fileprivate init(name: String, _ status: stat) {
        let modified = status.st_mtim
        self.init(
            name: name, size: Int64(status.st_size),
            modified: Int64(modified.tv_sec) * 1_000_000 + Int64(modified.tv_nsec) / 1_000)
    }

    /// Seconds for which a file must have been left alone, if its last line has no end.
    private static let quiet: TimeInterval = 60

    /// Whether it is as it was listed, and was not written just now.
    fileprivate func isLeftAlone(at path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, SourceFile(name: name, status) == self else { return false }
        return abs(Date().timeIntervalSince1970 - Double(status.st_mtim.tv_sec)) > Self.quiet
    }
}
