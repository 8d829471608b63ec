import Foundation
import NightlyRun
import Reporting

/// The account of lines that were not taken: a CSV file where one is named, else the first of them in the log.
struct RefusedLines {
    private let file: String?
    private let handle: FileHandle?
    private let log: @Sendable (LogEntry) -> Void
    private var count = 0
    /// Without a file, so many are named; the others are only counted.
    private static let named = 20

    /// Begins the file anew: an import that is started again tells of every line again.
    init(file: String?, log: @escaping @Sendable (LogEntry) -> Void) throws(UnwritableFile) {
        self.file = file
        self.log = log
        guard let file else {
            handle = nil
            return
        }
        do {
            try Data(CSV.line(["line", "reason", "id", "what"]).utf8).write(to: URL(filePath: file))
            let handle = try FileHandle(forWritingTo: URL(filePath: file))
            try handle.seekToEnd()
            self.handle = handle
        } catch {
            throw UnwritableFile(file, error)
        }
    }

    mutating func take(_ lines: [RefusedLine]) throws(UnwritableFile) {
        defer { count += lines.count }
        guard let handle, let file else { return name(lines) }
        let text = lines.map { CSV.line([String($0.line), $0.reason.rawValue, $0.id ?? "", $0.text]) }.joined()
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            throw UnwritableFile(file, error)
        }
    }

    /// Says how many were not named.
    func finish() {
        guard handle == nil, count > Self.named else { return }
        log(LogEntry(.warning, "\(count - Self.named) more lines were refused; --refused FILE writes all"))
    }

    private func name(_ lines: [RefusedLine]) {
        for line in lines.prefix(max(0, Self.named - count)) {
            var fields = ["line": String(line.line), "reason": line.reason.rawValue]
            fields["id"] = line.id
            log(LogEntry(.warning, "refused: \(line.text)", fields: fields))
        }
    }
}

/// A file that the command line names and that can't be written.
struct UnwritableFile: Error, CustomStringConvertible {
    let description: String

    init(_ file: String, _ error: any Error) {
        description = "\(file) can't be written: \(error.localizedDescription)"
    }
}
